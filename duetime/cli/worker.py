"""`duetime worker`: run handlers in any service, until SIGTERM or Ctrl-C."""

import asyncio
import logging
import os
import re
import signal
import sys
from collections.abc import Coroutine, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from duetime.cli.exits import Exit
from duetime.client.waiting import span
from duetime.contracts.duration import format_duration
from duetime.errors import BadSetting
from duetime.logs import set_up_logs
from duetime.target import Target, Tls

if TYPE_CHECKING:
    from duetime.handlers import Handler

log = logging.getLogger("duetime.worker")

_VARIABLE = "DUETIME_TEMPORAL_"

Result = TypeVar("Result")


def worker(
    modules: Annotated[
        list[str],
        typer.Argument(metavar="MODULE...", help="Modules with @handler functions.", show_default=False),
    ],
    queues: Annotated[str, typer.Option(metavar="NAME,...", help="Queues to serve.")] = "default",
    temporal: Annotated[
        str,
        typer.Option(envvar=_VARIABLE + "ADDRESS", metavar="HOST:PORT", help="The Temporal frontend."),
    ] = "localhost:7233",
    namespace: Annotated[str, typer.Option(envvar=_VARIABLE + "NAMESPACE", metavar="NAME")] = "default",
    tls: Annotated[
        bool,
        typer.Option("--tls", envvar=_VARIABLE + "TLS", help="The options below, and a key, mean it too."),
    ] = False,
    tls_ca: Annotated[
        Path | None, typer.Option(envvar=_VARIABLE + "TLS_CA", metavar="FILE", help="The authority to trust.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(envvar=_VARIABLE + "TLS_CERT", metavar="FILE", help="Our own, for mTLS.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(envvar=_VARIABLE + "TLS_KEY", metavar="FILE", help="That of --tls-cert.")
    ] = None,
    tls_server_name: Annotated[
        str | None,
        typer.Option(envvar=_VARIABLE + "TLS_SERVER_NAME", metavar="NAME", help="In its certificate."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Attempts at once on each queue.")
    ] = 20,
    grace: Annotated[
        str, typer.Option(metavar="SPAN", help="What running handlers get to finish when it stops.")
    ] = "30s",
    log_level: Annotated[
        str, typer.Option(envvar="DUETIME_LOG_LEVEL", metavar="LEVEL", help="debug, info, warning or error.")
    ] = "info",
    log_format: Annotated[
        str, typer.Option(envvar="DUETIME_LOG_FORMAT", metavar="text|json", help="Lines, or JSON objects.")
    ] = "text",
    metrics_host: Annotated[
        str, typer.Option(envvar="DUETIME_METRICS_HOST", metavar="IP", help="Where --metrics-port listens.")
    ] = "127.0.0.1",
    metrics_port: Annotated[
        int | None,
        typer.Option(envvar="DUETIME_METRICS_PORT", min=1, max=65535, metavar="PORT", help="Show metrics."),
    ] = None,
) -> int:
    """Run handlers until SIGTERM or Ctrl-C.

    Running handlers get the grace to finish; then their attempts are given back. Needs Temporal, not the API; a key for
    it is taken from DUETIME_TEMPORAL_API_KEY.

    \b
    duetime worker my_app.handlers --queues mail,reports
    """
    # The Temporal SDK takes a while to load: no other command waits for it.
    from duetime.handlers import HandlerFault, find_handlers
    from duetime.worker import names_of_queues

    if log_level.lower() not in ("debug", "info", "warning", "error"):
        raise BadSetting(f"--log-level: {log_level!r} is not debug, info, warning or error")
    if log_format not in ("text", "json"):
        raise BadSetting(f"--log-format: {log_format!r} is not text or json")
    target = _target(temporal, namespace, tls, Tls(tls_ca, tls_cert, tls_key, tls_server_name))
    set_up_logs(log_level, "json" if log_format == "json" else "text", filter(None, [target.api_key]))
    sys.path.insert(0, "")
    longest = span("--grace", grace)
    try:
        found = find_handlers(modules)
    except HandlerFault as fault:
        raise BadSetting(f"MODULE: {fault}") from None
    try:
        names = names_of_queues(name.strip() for name in queues.split(",") if name.strip())
    except ValueError as error:
        raise BadSetting(f"--queues: {error}") from None
    _set_up_runtime(metrics_host, metrics_port)
    return asyncio.run(_serve(target, found, names, concurrency, longest))


def _set_up_runtime(host: str, port: int | None) -> None:
    """Before the first connection: signs of life every two seconds, and metrics if they are wanted."""
    from duetime.observe.runtime import RuntimeFault, set_up_runtime

    try:
        set_up_runtime(metrics=f"{f'[{host}]' if ':' in host else host}:{port}" if port is not None else None)
    except RuntimeFault as fault:
        raise BadSetting(f"--metrics-port: {fault}") from None


def _target(address: str, namespace: str, wanted: bool, files: Tls) -> Target:
    key = os.environ.get(_VARIABLE + "API_KEY") or None
    tls = files if wanted or files != Tls() else None
    if tls is not None and (tls.cert is None) != (tls.key is None):
        raise BadSetting("--tls-cert and --tls-key go together: give both or neither")
    if not re.fullmatch(r"\S+:\d{1,5}", address):
        raise BadSetting(f"--temporal: {address!r} is no HOST:PORT, such as localhost:7233")
    return Target(address, namespace, tls or (Tls() if key else None), key)


async def _serve(
    target: Target,
    handlers: Mapping[str, "Handler"],
    queues: list[str],
    concurrency: int,
    grace: timedelta,
) -> int:
    from duetime.connection import connect_patiently
    from duetime.worker import Worker

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    client = await _unless(stop, connect_patiently(target))
    if client is None:
        return Exit.OK
    async with Worker(client, handlers, queues=queues, concurrency=concurrency, grace=grace):
        await stop.wait()
        log.info("stopping: running handlers get %s", format_duration(grace))
    return Exit.OK


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result | None:
    """What `work` returns; `None` when the stop comes first."""
    doing, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    await asyncio.wait([doing, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if doing.done():
        return doing.result()
    doing.cancel()
    return None
