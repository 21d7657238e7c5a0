"""The rate limit of a queue, which the Temporal server itself keeps and obeys (0 starts a second: paused).

`UpdateTaskQueueConfig` and `DescribeTaskQueue` of Temporal's WorkflowService; the same limit that `temporal task-queue
config set` changes.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import RateLimit, TaskQueue, TaskQueueConfig
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, UpdateTaskQueueConfigRequest
from temporalio.client import Client

from duetime.contracts.pauses import Note, Pause, read_note, write_note

_ACTIVITIES = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY


@dataclass(frozen=True)
class QueueLimit:
    """How fast a queue hands out work. `rate` is in starts a second: `None` without a limit, 0 while paused."""

    rate: float | None = None
    note: Note = field(default_factory=Note)
    changed_at: datetime | None = None

    @property
    def is_paused(self) -> bool:
        return self.rate == 0

    @property
    def pauses(self) -> tuple[Pause, ...]:
        """All that is known, the one that lasts included, whoever began it."""
        known = self.note.pauses
        if not self.is_paused:
            return tuple(pause for pause in known if pause.end is not None)
        if known and known[-1].end is None:
            return known
        return (*known, Pause(self.changed_at)) if self.changed_at else known

    @property
    def paused_since(self) -> datetime | None:
        return self.pauses[-1].begin if self.is_paused and self.pauses else None


def read_limit(config: TaskQueueConfig) -> QueueLimit:
    """The limit in a description of a task queue."""
    limit = config.queue_rate_limit
    told = limit.metadata
    note = read_note(told.reason)
    if not note.by:
        note = replace(note, by=told.update_identity)
    return QueueLimit(
        rate=limit.rate_limit.requests_per_second if limit.HasField("rate_limit") else None,
        note=note,
        changed_at=told.update_time.ToDatetime(tzinfo=UTC) if told.HasField("update_time") else None,
    )


async def queue_limit(client: Client, queue: str) -> QueueLimit:
    """The limit of a queue now."""
    described = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=_ACTIVITIES,
            report_config=True,
        ),
        retry=True,
    )
    return read_limit(described.config)


async def set_queue_limit(client: Client, queue: str, rate: float | None, note: Note) -> QueueLimit:
    """Sets the limit with its account, in one step; the limit as the server has it then."""
    limit = None if rate is None else RateLimit(requests_per_second=rate)
    answer = await client.workflow_service.update_task_queue_config(
        UpdateTaskQueueConfigRequest(
            namespace=client.namespace,
            identity=note.by,
            task_queue=queue,
            task_queue_type=_ACTIVITIES,
            update_queue_rate_limit=UpdateTaskQueueConfigRequest.RateLimitUpdate(
                rate_limit=limit, reason=write_note(note)
            ),
        )
    )
    return read_limit(answer.config)
