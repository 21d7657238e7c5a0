"""When a job is due that somebody started by hand with Temporal's own start delay, and that names no time itself.

The API names the due time in the job; the Temporal CLI and SDKs hold back the start instead, of which a workflow is
told nothing. It sees that it began later than it was started, which may as well be a worker that came late; the server
is asked which.
"""

from datetime import datetime, timedelta

from temporalio import workflow

from activities.execution_time import EXECUTION_TIME
from duetime.contracts.carry import Carry
from duetime.contracts.instants import parse_instant
from duetime.contracts.job import JobSpec

#: Replay marks. Before the first, such a job counted as due when it was started; before the second, an activity of the
#: server's asked, where a local one costs a flood of late jobs one call and one event each.
_PATCH = "start-delay"
_PATCH_LOCAL = "start-delay-local"
#: A start that is later than this is worth asking about; the server's timers have this granularity.
_NOTICEABLE = timedelta(seconds=1)
_ASKING = timedelta(seconds=60)


async def delayed_due_time(spec: JobSpec, carry: Carry) -> datetime | None:
    """The due time that the start delay of a job started by hand made; `None` when it is known without."""
    info = workflow.info()
    if carry.due_at is not None or spec.run_at is not None or spec.delay is not None:
        return None
    if workflow.now() - info.workflow_start_time < _NOTICEABLE:
        return None
    asked: workflow.ActivityHandle[str]
    if workflow.patched(_PATCH_LOCAL):
        asked = workflow.start_local_activity(
            EXECUTION_TIME,
            result_type=str,
            activity_id="execution-time",
            start_to_close_timeout=_ASKING,
            summary="reads the start delay",
        )
    elif workflow.patched(_PATCH):
        asked = workflow.start_activity(
            EXECUTION_TIME,
            result_type=str,
            activity_id="execution-time",
            start_to_close_timeout=_ASKING,
            summary="reads the start delay",
        )
    else:
        return None
    # Not awaited as such: a cancellation of the job would come back as the activity's failure.
    await workflow.wait_condition(asked.done)
    return spec.due_at(info.workflow_id, parse_instant(await asked))
