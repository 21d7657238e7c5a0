"""One worker process of the service: runs workflows and handlers until SIGTERM or Ctrl-C.

python worker.py [--queues a,b] [--handlers my.module,…] [--no-workflows] [--allow-commands]
"""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta

from temporalio.client import Client

from activities.builtin import builtin_handlers
from duetime.connection import connect_patiently
from duetime.engine import prepare_namespace
from duetime.handlers import Handler, find_handlers
from duetime.logs import set_up_logs
from duetime.process import run_main
from duetime.settings import Settings, settings_or_exit
from duetime.worker import Worker
from workflows.worker import orchestrator

log = logging.getLogger("duetime.worker")

#: What running handlers get to finish on shutdown before their attempts are given back.
GRACE = timedelta(seconds=30)


def parse_arguments(arguments: Sequence[str], settings: Settings) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="worker.py", description="Runs Duetime's workflows and handlers.")
    parser.add_argument(
        "--queues", default=",".join(settings.queues), help="queues to serve, comma-separated"
    )
    parser.add_argument(
        "--handlers", default=",".join(settings.handlers), help="modules with handlers, comma-separated"
    )
    parser.add_argument("--no-workflows", action="store_true", help="run handlers only")
    parser.add_argument(
        "--allow-commands",
        action="store_true",
        default=settings.allow_commands,
        help="offer the kind `command`",
    )
    parser.add_argument("--concurrency", type=int, default=20, help="attempts at once on each queue")
    return parser.parse_args(arguments)


def handlers_of(options: argparse.Namespace) -> dict[str, Handler]:
    """The built-in handlers and those of the modules; a module cannot take a built-in kind."""
    modules = [name for name in options.handlers.split(",") if name]
    return find_handlers([*builtin_handlers().values(), *modules])


async def serve(client: Client, options: argparse.Namespace, stop: asyncio.Event) -> None:
    """Runs the worker until `stop`; on leaving, handlers finish or their attempts are given back."""
    queues = [name for name in options.queues.split(",") if name]
    async with AsyncExitStack() as running:
        if not options.no_workflows:
            await running.enter_async_context(orchestrator(client))
        await running.enter_async_context(
            Worker(client, handlers_of(options), queues=queues, concurrency=options.concurrency, grace=GRACE)
        )
        await stop.wait()
        log.info("stopping: running handlers get %d s", GRACE.total_seconds())


async def main() -> int:
    settings = settings_or_exit()
    set_up_logs(settings.log_level)
    options = parse_arguments(sys.argv[1:], settings)
    sys.path.insert(0, "")
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    client = await connect_patiently(settings.temporal)
    await prepare_namespace(client)
    await serve(client, options, stop)
    return 0


if __name__ == "__main__":
    run_main(main)
