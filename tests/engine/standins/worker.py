"""A worker that can misbehave, in place of the real one: `python worker.py [crash|stuck]`."""

import asyncio
import os
import signal
import sys

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from duetime.process import run_main
from duetime.settings import load_settings


@workflow.defn(name="Job")
class Job:
    @workflow.run
    async def run(self) -> str:
        return "done"


@activity.defn(name="noop")
async def noop() -> None:
    pass


async def main() -> int:
    if "crash" in sys.argv:
        print("cannot go on")
        return 3
    settings = load_settings()
    print("handlers:", ",".join(settings.handlers))
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if "stuck" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    client = await Client.connect(settings.temporal_target, namespace=settings.temporal_namespace)
    async with (
        Worker(client, task_queue="duetime", workflows=[Job], workflow_runner=UnsandboxedWorkflowRunner()),
        Worker(client, task_queue=settings.queues[0], activities=[noop]),
    ):
        print("working as", os.getpid())
        await stop.wait()
    print("worker says goodbye")
    return 0


if __name__ == "__main__":
    run_main(main)
