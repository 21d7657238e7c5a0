"""What the server itself knows of a queue: its limit, its backlog and rates (at most five seconds old), its pollers."""

from dataclasses import dataclass, field
from datetime import timedelta

from temporalio.api.enums.v1 import RateLimitSource, TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

from api.queues.workers import Poll
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.jobs.wire import instant
from duetime.observe.runtime import OFTEN
from duetime.queue_limit import QueueLimit, read_limit


@dataclass(frozen=True)
class Lane:
    """One queue on the server. Rates are tasks a second, retries included, over about half a minute."""

    name: str
    limit: QueueLimit = field(default_factory=QueueLimit)
    backlog: int = 0
    #: How long the first task in the backlog has been there.
    backlog_age: timedelta = timedelta(0)
    arrivals: float = 0.0
    starts: float = 0.0
    #: The server holds tasks back now for the sake of a limit.
    is_limiting: bool = False
    #: The limit in force, from whomever it comes; `None` when only the server's own bound is in force.
    rate: float | None = None
    polls: tuple[Poll, ...] = ()


#: Limits that somebody chose; the others are the server's own.
_CHOSEN = (RateLimitSource.RATE_LIMIT_SOURCE_API, RateLimitSource.RATE_LIMIT_SOURCE_WORKER)


async def read_lane(client: Client, name: str) -> Lane:
    """A queue of jobs; of the orchestration queue, its workflow side."""
    workflows = name == ORCHESTRATION_QUEUE
    described = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=name),
            task_queue_type=(
                TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
                if workflows
                else TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
            ),
            report_stats=True,
            report_config=True,
            report_pollers=True,
        ),
        retry=True,
    )
    stats, limit = described.stats, described.effective_rate_limit
    return Lane(
        name,
        read_limit(described.config),
        stats.approximate_backlog_count,
        stats.approximate_backlog_age.ToTimedelta(),
        stats.tasks_add_rate,
        stats.tasks_dispatch_rate,
        stats.rate_limiting_active,
        limit.requests_per_second if limit.rate_limit_source in _CHOSEN else None,
        tuple(map(_poll, described.pollers)),
    )


def _poll(poller: PollerInfo) -> Poll:
    promises = poller.worker_version_capabilities.build_id == OFTEN
    return Poll(poller.identity, instant(poller.last_access_time), promises)
