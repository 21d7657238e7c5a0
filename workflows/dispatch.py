"""One dispatch of a job: the activity, named like the kind, that has it attempted on its queue."""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import Priority, RawValue, RetryPolicy

from duetime import attributes
from duetime.contracts.carry import Carry
from duetime.contracts.job import JobSpec
from duetime.contracts.record import Assignment, Record

#: Timeouts that come back to the workflow instead of being retried by the server.
_OURS = ["TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose"]
_SOONEST = timedelta(milliseconds=1)


def dispatch(
    spec: JobSpec,
    carry: Carry,
    record: Record,
    due_at: datetime,
    priority: int,
    queue_timeout: timedelta | None,
    once: bool,
) -> workflow.ActivityHandle[RawValue]:
    """Hands the job out, under the next number of `carry.dispatches`, to wait so long for a worker.

    With `once` an attempt that fails comes back to the workflow, instead of being tried again by the server.
    """
    assignment = _assignment(spec, carry, record, due_at)
    first = max(spec.retry.initial_interval, _SOONEST)
    return workflow.start_activity(
        spec.kind,
        args=[spec.payload, assignment.compact()],
        result_type=RawValue,
        activity_id=assignment.dispatch,
        task_queue=spec.queue,
        start_to_close_timeout=spec.timeout,
        heartbeat_timeout=spec.lease,
        schedule_to_start_timeout=queue_timeout,
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        retry_policy=RetryPolicy(
            initial_interval=first,
            backoff_coefficient=spec.retry.backoff,
            maximum_interval=max(spec.retry.max_interval, first),
            maximum_attempts=1 if once else max(1, spec.retry.max_attempts - record.used),
            non_retryable_error_types=[*_OURS, *spec.retry.non_retryable],
        ),
        priority=Priority(
            priority_key=priority,
            fairness_key=spec.fairness_key,
            fairness_weight=spec.fairness_weight if spec.fairness_key else None,
        ),
    )


def _assignment(spec: JobSpec, carry: Carry, record: Record, due_at: datetime) -> Assignment:
    info = workflow.info()
    told = info.typed_search_attributes
    return Assignment(
        id=info.workflow_id,
        run_id=info.run_id,
        kind=spec.kind,
        queue=spec.queue,
        idempotency_key=carry.idempotency_key or f"{info.workflow_id}:{info.first_execution_run_id}",
        due_at=due_at,
        nominal_time=told.get(attributes.NOMINAL_TIME),
        schedule_id=carry.schedule_id or told.get(attributes.SCHEDULE_ID),
        pipeline_id=carry.pipeline_id,
        max_attempts=spec.retry.max_attempts,
        attempts_used=record.used,
        dispatch=str(carry.dispatches),
        retry=spec.retry.model_dump(mode="json", exclude_defaults=True),
        timeout=spec.timeout.total_seconds(),
        lease=spec.lease.total_seconds(),
        record=record,
    )
