"""From a job to the start of its workflow: one rule for the API and for those who start jobs without it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from duetime import attributes
from duetime.contracts.job import JOB, JobSpec
from duetime.contracts.limits import ORCHESTRATION_QUEUE


class Take(Enum):
    """How an id may be taken. `NEW` is right until it is known who has the id."""

    #: Nobody may have it: no open job, and no finished one that the server remembers.
    NEW = (WorkflowIDReusePolicy.REJECT_DUPLICATE, WorkflowIDConflictPolicy.FAIL)
    #: A finished job may have it.
    AGAIN = (WorkflowIDReusePolicy.ALLOW_DUPLICATE, WorkflowIDConflictPolicy.FAIL)
    #: The open job that has it is ended, in one step of the server. One that has succeeded meanwhile keeps it: what is
    #: done is not done again. (One that failed does not: the server refuses to be stricter together with replacing.)
    REPLACE = (
        WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        WorkflowIDConflictPolicy.TERMINATE_EXISTING,
    )
    #: Whoever has it loses it, open or finished.
    REPLACE_ANY = (WorkflowIDReusePolicy.ALLOW_DUPLICATE, WorkflowIDConflictPolicy.TERMINATE_EXISTING)


@dataclass(frozen=True)
class Start:
    """A job that is about to be started: what its workflow is given, and when it is due."""

    job_id: str
    spec: JobSpec
    accepted_at: datetime
    due_at: datetime

    @property
    def delay(self) -> timedelta | None:
        """How long the server holds the start back.

        A job after others begins to wait for them at once, while the server still remembers them.
        """
        delay = self.due_at - self.accepted_at
        return delay if delay > timedelta(0) and not self.spec.after else None


def plan_start(job: JobSpec, job_id: str, now: datetime) -> Start:
    """The start of `job` when it is accepted at `now`; `ValueError` when it is due too far ahead."""
    spec = job.settled(job_id, now)
    return Start(job_id, spec, now, spec.due_at(job_id, now))


def priority_of(spec: JobSpec) -> Priority:
    """Whose turn it is, in the queue of the workflows as in the job's own: a flood of one tenant's starts would keep
    another's single job from ever coming to its queue."""
    return Priority(
        priority_key=spec.priority,
        fairness_key=spec.fairness_key,
        fairness_weight=spec.fairness_weight if spec.fairness_key else None,
    )


async def begin(
    client: Client,
    start: Start,
    take: Take,
    memo: Mapping[str, Any] | None = None,
    carry: Mapping[str, Any] | None = None,
) -> WorkflowHandle[Any, dict[str, Any]]:
    """Starts it; durable when this returns. `WorkflowAlreadyStartedError` when the id cannot be taken so.

    `carry` is what the job must know of the one that had its id before.
    """
    reuse, conflict = take.value
    return await client.start_workflow(
        JOB,
        args=[start.spec.compact(), *([carry] if carry else [])],
        id=start.job_id,
        task_queue=ORCHESTRATION_QUEUE,
        result_type=dict[str, Any],
        id_reuse_policy=reuse,
        id_conflict_policy=conflict,
        start_delay=start.delay,
        search_attributes=attributes.of_job(start.spec, start.due_at),
        memo=memo,
        priority=priority_of(start.spec),
        static_summary=start.spec.kind,
    )
