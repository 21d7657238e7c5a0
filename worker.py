"""One worker process of the service: runs workflows and handlers until SIGTERM or Ctrl-C.

python worker.py [--queues a,b] [--handlers my.module,…] [--no-workflows] [--allow-commands] [--grace 30s]
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from temporalio.client import Client

from activities.builtin import builtin_handlers
from activities.schedules.waking import waking_schedules
from duetime.connection import connect_patiently
from duetime.contracts.duration import format_duration, parse_duration
from duetime.contracts.job import Queue
from duetime.contracts.wording import sentence_of
from duetime.engine import prepare_namespace
from duetime.handlers import Handler, HandlerFault, find_handlers
from duetime.logs import set_up_logs
from duetime.observe.runtime import RuntimeFault, set_up_runtime
from duetime.process import EXIT_USAGE, run_main, settle, stop_on_signals
from duetime.settings import Settings, settings_or_exit
from duetime.worker import Worker
from workflows.worker import orchestrator

log = logging.getLogger("duetime.worker")

#: Seconds after the grace for handlers to clean up and for telling the server; then the process ends all the same.
LAST_RESORT = 15.0

Parsed = TypeVar("Parsed")


def said(parse: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
    """`parse` for an argument, with its own words on what is wrong."""

    def read(text: str) -> Parsed:
        try:
            return parse(text)
        except ValidationError as error:
            fault = sentence_of(error.errors()[0])
            raise argparse.ArgumentTypeError(f"{text!r}: {fault}") from None
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None

    return read


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def queue_names(text: str) -> list[str]:
    queues = TypeAdapter(list[Queue]).validate_python(names(text))
    if not queues:
        raise ValueError("names no queue")
    return queues


def parse_seconds(text: str) -> timedelta:
    return parse_duration(int(text) if text.isascii() and text.isdecimal() else text)


def at_least_one(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise ValueError("must be a whole number from 1")
    return int(text)


def parse_arguments(arguments: Sequence[str], settings: Settings) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="worker.py", description="Runs Duetime's workflows and handlers.")
    parser.add_argument(
        "--queues",
        type=said(queue_names),
        default=",".join(settings.queues),
        help="queues to serve, comma-separated",
    )
    parser.add_argument(
        "--handlers",
        type=names,
        default=",".join(settings.handlers),
        help="modules with handlers, comma-separated",
    )
    parser.add_argument("--no-workflows", action="store_true", help="run handlers only")
    parser.add_argument(
        "--allow-commands",
        action="store_true",
        default=settings.allow_commands,
        help="offer the kind `command`",
    )
    parser.add_argument(
        "--concurrency", type=said(at_least_one), default=20, help="attempts at once on each queue"
    )
    parser.add_argument(
        "--grace",
        type=said(parse_seconds),
        default="30s",
        help="what running handlers get to finish on shutdown before their attempts are given back",
    )
    return parser.parse_args(arguments)


def handlers_of(options: argparse.Namespace, settings: Settings) -> dict[str, Handler]:
    """The built-in handlers and those of the modules; a module cannot take a built-in kind."""
    try:
        builtin = builtin_handlers(
            http_allow=",".join(settings.http_allow),
            webhook_secrets=[secret.get_secret_value() for secret in settings.webhook_secrets],
            allow_commands=options.allow_commands,
        )
    except ValueError as error:  # a setting
        raise HandlerFault(str(error)) from None
    return find_handlers([*builtin, *options.handlers])


def metrics_address(settings: Settings) -> str | None:
    """Where the metrics of this worker are shown, if anywhere."""
    host = f"[{settings.metrics_host}]" if ":" in settings.metrics_host else settings.metrics_host
    return f"{host}:{settings.metrics_port}" if settings.metrics_port is not None else None


async def serve(
    client: Client, handlers: Mapping[str, Handler], options: argparse.Namespace, stop: asyncio.Event
) -> None:
    """Runs the worker until `stop`; on leaving, handlers finish or their attempts are given back."""
    async with AsyncExitStack() as running:
        if not options.no_workflows:
            await running.enter_async_context(orchestrator(client))
            await running.enter_async_context(waking_schedules(client))
        await running.enter_async_context(
            Worker(
                client,
                handlers,
                queues=options.queues,
                concurrency=options.concurrency,
                grace=options.grace,
            )
        )
        await stop.wait()
        log.info("stopping: running handlers get %s", format_duration(options.grace))


async def main() -> int:
    settings = settings_or_exit()
    set_up_logs(settings.log_level, settings.log_format, settings.secrets)
    options = parse_arguments(sys.argv[1:], settings)
    sys.path.insert(0, "")
    try:
        handlers = handlers_of(options, settings)
    except HandlerFault as fault:
        print(f"worker.py: {fault}", file=sys.stderr)
        return EXIT_USAGE
    try:
        set_up_runtime(metrics=metrics_address(settings))
    except RuntimeFault as fault:
        print(f"worker.py: {fault}: set DUETIME_METRICS_PORT to another port", file=sys.stderr)
        return EXIT_USAGE
    stop = stop_on_signals(options.grace.total_seconds() + LAST_RESORT)
    client = await unless(stop, reach(settings))
    if client is not None:
        settle()
        await serve(client, handlers, options, stop)
    return 0


async def reach(settings: Settings) -> Client:
    """A client of a namespace that is fit for jobs, however long its server takes to come up."""
    client = await connect_patiently(settings.temporal)
    await prepare_namespace(client)
    return client


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, Parsed]) -> Parsed | None:
    """What `work` gives, or `None` when `stop` comes first."""
    working, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if working.done():
        return working.result()
    working.cancel()
    return None


if __name__ == "__main__":
    run_main(main)
