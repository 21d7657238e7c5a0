"""`make run`: the whole service on this machine, until Ctrl-C.

The embedded Temporal server (unless DUETIME_TEMPORAL_ADDRESS names one), a worker and an API instance, as
processes of their own, with their logs in one terminal. Everything is stopped in order, on Ctrl-C, SIGTERM
or when the terminal closes, and at once when asked again. If one part fails, all are stopped and the exit
code is 1.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig, EngineError, prepare_namespace
from duetime.engine.console import Console
from duetime.engine.ports import require_free
from duetime.engine.probes import ACTIVITIES, WORKFLOWS, LanesPolled, answers_200
from duetime.engine.supervisor import Program, Supervisor
from duetime.process import run_main
from duetime.settings import Settings, settings_or_exit
from duetime.target import Target

ROOT = Path(__file__).parent
WORKER = (sys.executable, str(ROOT / "worker.py"))
API = (sys.executable, "-m", "api")

DEFAULT_HANDLERS = ("examples.handlers", "examples.nightly")
ORCHESTRATION_QUEUE = "duetime"
NIGHTLY = "examples/nightly.json"

_READY_TIMEOUT = 60.0
_CONNECT_TIMEOUT = 10.0
#: What running handlers get to finish or save their work.
_WORKER_GRACE = 30.0


async def run(settings: Settings, *, worker: Sequence[str] = WORKER, api: Sequence[str] = API) -> int:
    """Run all until a signal (0) or a failure (1): the exit code. Nothing runs afterwards."""
    console = Console(sys.stdout)
    supervisor = Supervisor(console.line)
    stop = asyncio.Event()
    _on_signals(stop, supervisor.hurry)
    console.say("Starting; a moment.")
    work = asyncio.create_task(_serve(settings, supervisor, console, worker, api))
    asked = asyncio.create_task(stop.wait())
    failed = False
    try:
        await asyncio.wait([work, asked], return_when=asyncio.FIRST_COMPLETED)
        console.say("\nStopping (again to hurry)." if stop.is_set() else "")
        work.cancel()
        await work
    except asyncio.CancelledError:
        pass
    except EngineError as error:
        failed = True
        console.say(str(error))
    finally:
        await supervisor.stop(failed=failed)
    return 1 if failed else 0


async def _serve(
    settings: Settings, supervisor: Supervisor, console: Console, worker: Sequence[str], api: Sequence[str]
) -> None:
    """Bring all parts up, say so, and watch them. Ends by `EngineError` or by being cancelled."""
    require_free(
        settings.api_port,
        "the API",
        "set DUETIME_API_HOST or DUETIME_API_PORT to another",
        host=settings.api_host,
    )
    ui_url = None
    if settings.temporal_address is None:
        engine = EmbeddedEngine(_engine_config(settings, console))
        await supervisor.start_engine(engine)
        ui_url = engine.ui_url
        client = await engine.client()
    else:
        client = await _join(settings.temporal)
    address = client.service_client.config.target_host
    env = _environment(settings, address)
    polled = LanesPolled(
        client, [(ORCHESTRATION_QUEUE, WORKFLOWS), *((queue, ACTIVITIES) for queue in settings.queues)]
    )
    await polled.remember()
    url = _url(settings)
    programs = [
        Program("worker", worker, env, polled, grace=_WORKER_GRACE),
        Program("api", api, env, partial(answers_200, f"{url}/readyz")),
    ]
    for program in programs:
        supervisor.start(program)
    await supervisor.until_ready(programs, _READY_TIMEOUT)
    console.say(
        welcome(
            url,
            address,
            ui_url,
            settings.data_dir if ui_url else None,
            keyed=settings.api_keys_file is not None,
            nightly=not settings.handlers,
        )
    )
    await supervisor.until_one_ends()


def _engine_config(settings: Settings, console: Console) -> EngineConfig:
    return EngineConfig(
        data_dir=settings.data_dir,
        port=settings.temporal_port,
        ui_port=settings.ui_port,
        namespace=settings.temporal_namespace,
        binary=settings.temporal_bin,
        log_level="info" if settings.log_level == "debug" else "warn",
        on_log=partial(console.line, "temporal"),
    )


async def _join(target: Target) -> Client:
    """A client of a server that somebody else runs, made fit for jobs."""
    try:
        async with asyncio.timeout(_CONNECT_TIMEOUT):
            client = await connect(target)
        await prepare_namespace(client)
    except (RuntimeError, RPCError, TimeoutError) as error:
        raise EngineError(
            f"no Temporal server answers well at DUETIME_TEMPORAL_ADDRESS={target.address} "
            f"({str(error) or f'nothing in {_CONNECT_TIMEOUT:.0f} s'}): start it, or leave that variable out "
            "to use the embedded one"
        ) from None
    return client


def _environment(settings: Settings, address: str) -> dict[str, str]:
    """What the children get: ours, and what was decided here."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "DUETIME_TEMPORAL_ADDRESS": address,
        "DUETIME_HANDLERS": ",".join(settings.handlers or DEFAULT_HANDLERS),
    }


def _url(settings: Settings) -> str:
    """Where a browser on this machine finds the API."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.api_host, settings.api_host)  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.api_port}"


def welcome(
    url: str,
    address: str,
    ui_url: str | None,
    data_dir: Path | None,
    *,
    keyed: bool = False,
    nightly: bool = False,
) -> str:
    """What one reads when all is ready: where things are, and something to try; `nightly` when its handlers run."""
    ui = f"\n  Temporal Web UI   {ui_url}" if ui_url else ""
    key = ' -H "Authorization: Bearer $DUETIME_API_KEY"' if keyed else ""
    make_one = "\n(With a key in DUETIME_API_KEY; `python -m api.keys` makes one.)\n" if keyed else ""
    kept = f" Jobs are kept in {data_dir}." if data_dir else ""
    pipeline = f"""
A nightly pipeline over orders, once and then as often as you like, and how it went:

  curl -s {url}/v1/pipelines{key} -H 'Content-Type: application/json' \\
    -d @{NIGHTLY}

  curl -s{key} '{url}/v1/pipelines'
"""
    pipeline = pipeline if nightly else ""
    return f"""
Duetime is ready.

  API               {url}/docs{ui}
  Temporal gRPC     {address}

Greet the world in five seconds, then see what became of it:
{make_one}
  curl -s {url}/v1/jobs{key} -H 'Content-Type: application/json' \\
    -d '{{"kind": "hello", "payload": {{"name": "world"}}, "delay": "5s"}}'

  curl -s{key} '{url}/v1/jobs?kind=hello'
{pipeline}
Ctrl-C stops everything.{kept}
"""


def _on_signals(stop: asyncio.Event, hurry: asyncio.Event) -> None:
    def asked() -> None:
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, asked)


if __name__ == "__main__":
    settings = settings_or_exit()
    run_main(lambda: run(settings))
