"""The worker of the orchestration plane: runs our workflows on the queue `duetime`."""

from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from activities.bulk.canaries import CanaryWatch
from activities.bulk.freezing import Freezer
from activities.bulk.turns import TurnTaker
from activities.endings import Endings
from activities.execution_time import ExecutionTime
from activities.last_record import LastRecord
from activities.limit_places import LimitPlaces
from activities.predecessors import PredecessorCheck
from activities.queue_pauses import QueuePauses
from activities.schedules.all import schedule_activities
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.runtime.draining import let_polls_return
from duetime.runtime.poller import Poller
from workflows.bulk import BulkOperation
from workflows.bulk_set import BulkSet
from workflows.fan_out import FanOutWorkflow
from workflows.job import JobWorkflow
from workflows.limit import ConcurrencyLimit
from workflows.pipeline import PipelineWorkflow
from workflows.queue_limits import watching
from workflows.runner import Runner
from workflows.schedule import ScheduleWorkflow

#: The job workflow is dynamic: it also answers, readably, for types that do not exist.
WORKFLOWS: list[type] = [
    JobWorkflow,
    ConcurrencyLimit,
    BulkOperation,
    BulkSet,
    ScheduleWorkflow,
    PipelineWorkflow,
    FanOutWorkflow,
]


class Orchestrator(Poller):
    """A worker that knows which queues have a concurrency limit."""

    async def run(self) -> None:
        async with watching(self.client):
            await super().run()


def orchestrator(client: Client, **options: Any) -> Worker:
    """A worker for our own reviewed workflows, which the replay tests hold to determinism *with* the sandbox.

    Run unsandboxed here: the sandbox's importer costs half of a worker's processor time per job. `options` are those of
    `temporalio.worker.Worker`, in place of ours.
    """
    let_polls_return()
    places = LimitPlaces(client)
    endings = Endings(client)
    ours: dict[str, Any] = {
        "task_queue": ORCHESTRATION_QUEUE,
        "workflows": WORKFLOWS,
        "activities": [
            PredecessorCheck(client).check,
            LastRecord(client).read,
            QueuePauses(client).measure,
            places.ask,
            places.ask_queue,
            places.leave,
            places.grant,
            places.look,
            endings.results,
            endings.last_run,
            endings.items_ending,
            ExecutionTime(client).read,
            Freezer(client).freeze,
            TurnTaker(client).take,
            CanaryWatch(client).watch,
            *schedule_activities(client),
        ],
        "max_concurrent_activities": 200,
        # How long a workflow's next task waits for the worker that has it in memory. The SDK's own ten seconds would be
        # added to every lost lease when that worker was the one that died.
        "sticky_queue_schedule_to_start_timeout": timedelta(seconds=3),
        "workflow_runner": Runner(),
    }
    return Orchestrator(client, **(ours | options))
