"""The yardstick: a workflow of one activity and nothing else, on the same queue set-up as ours."""

import asyncio
import signal
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from duetime.connection import connect_patiently
from duetime.process import run_main
from duetime.settings import settings_or_exit

WORKFLOWS, ACTIVITIES = "bare-workflows", "bare-activities"


@activity.defn(name="bare")
async def bare(payload: dict[str, Any]) -> dict[str, Any]:
    return payload


@workflow.defn(name="Bare")
class Bare:
    @workflow.run
    async def run(self, payload: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = await workflow.execute_activity(
            "bare",
            payload,
            task_queue=ACTIVITIES,
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(maximum_attempts=5),
        )
        return result


async def main() -> int:
    """Two workers in one process, as `worker.py` has."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    client = await connect_patiently(settings_or_exit().temporal_target)
    workflows = Worker(
        client, task_queue=WORKFLOWS, workflows=[Bare], workflow_runner=UnsandboxedWorkflowRunner()
    )
    activities = Worker(
        client,
        task_queue=ACTIVITIES,
        activities=[bare],
        max_concurrent_activities=20,
        max_concurrent_activity_task_polls=2,
    )
    async with workflows, activities:
        await stop.wait()
    return 0


if __name__ == "__main__":
    run_main(main)
