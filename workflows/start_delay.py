"""When a job is due that somebody started by hand with Temporal's own start delay, and that names no time itself.

The API names the due time in the job; the Temporal CLI and SDKs hold back the start instead, of which workflow code is
told nothing but by our own runner (`workflows.runner`).
"""

from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow

from activities.execution_time import EXECUTION_TIME
from duetime.contracts.carry import Carry
from duetime.contracts.instants import parse_instant
from duetime.contracts.job import JobSpec

#: The function of the runner that tells the delay of the workflow that calls it, as a `timedelta`.
START_DELAY = "duetime.start-delay"

#: A replay mark. Before it, such a job counted as due when it was started.
_TOLD = "start-delay-told"
#: Marks of histories in which the server was asked: by an activity, and later by a local one, of every job that began
#: later than this.
_ASKED, _ASKED_LOCALLY = "start-delay", "start-delay-local"
_NOTICEABLE = timedelta(seconds=1)
_ASKING = timedelta(seconds=60)


def held_back(spec: JobSpec, carry: Carry) -> timedelta:
    """How long after it was started the job counts as accepted. In workflow code, once."""
    if _knows_its_time(spec, carry):
        return timedelta(0)
    delay: timedelta = workflow.extern_functions()[START_DELAY]()
    return delay if delay > timedelta(0) and workflow.patched(_TOLD) else timedelta(0)


async def asked_due_time(spec: JobSpec, carry: Carry) -> datetime | None:
    """The due time that the server told in the history that is replayed; `None` where it was not asked."""
    info = workflow.info()
    late = workflow.now() - info.workflow_start_time >= _NOTICEABLE
    if not late or not workflow.unsafe.is_replaying() or _knows_its_time(spec, carry):
        return None
    asked = _asked()
    if asked is None:
        return None
    # Not awaited as such: a cancellation of the job would come back as the activity's failure.
    await workflow.wait_condition(asked.done)
    return spec.due_at(info.workflow_id, parse_instant(await asked))


def _knows_its_time(spec: JobSpec, carry: Carry) -> bool:
    return carry.due_at is not None or spec.run_at is not None or spec.delay is not None


def _asked() -> workflow.ActivityHandle[str] | None:
    """The activity that asked for the delay, in histories that have one. A mark is in a history or is not: looking for
    it while replaying writes none."""
    asking: dict[str, Any] = {
        "result_type": str,
        "activity_id": "execution-time",
        "start_to_close_timeout": _ASKING,
        "summary": "reads the start delay",
    }
    if workflow.patched(_ASKED_LOCALLY):
        return workflow.start_local_activity(EXECUTION_TIME, **asking)
    if workflow.patched(_ASKED):
        return workflow.start_activity(EXECUTION_TIME, **asking)
    return None
