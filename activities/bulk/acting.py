"""Acting on one job of an operation: redriven or cancelled as by a call of its own, or left alone and why."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.bulk import JobRef
from duetime.contracts.job import JobSpec
from duetime.contracts.requests import CancelRequest, RedriveRequest
from duetime.contracts.states import State
from duetime.jobs.cancel import stop
from duetime.jobs.facts import Facts, NotAJob, fetch
from duetime.jobs.reading import fetch_whole
from duetime.jobs.redrive import redrive
from duetime.jobs.refusal import NotNow
from duetime.jobs.state import state_of
from duetime.observe import names


@dataclass(frozen=True)
class Done:
    """Carried out; `run_id` is the run that came of a redrive."""

    run_id: str = ""


async def retry(client: Client, job: JobRef, how: RedriveRequest) -> Done:
    """Redrives the run that is in the set, and no other; `NotNow` says why that cannot be.

    A run that was redriven already, by an earlier try of ours or by somebody else, is done: both made the same run.
    """
    facts = await _known(fetch_whole(client, job.id))
    if facts.run_id != job.run_id:
        if facts.carry.redrive_of == job.run_id:
            return Done(facts.run_id)
        raise NotNow("moved_on", f"the newest run is {facts.run_id}")
    return Done(await redrive(client, facts, how))


async def cancel(client: Client, job: JobRef, how: CancelRequest, states: frozenset[State]) -> Done:
    """Cancels the job if it is the one in the set, and still in one of `states` (none: in any open one)."""
    facts = await _known(fetch(client, job.id))
    if facts.run_id != job.run_id and not await _goes_on(client, job, facts):
        raise NotNow("moved_on", "another job has its id by now")
    state = state_of(facts, datetime.now(UTC))
    if state is State.CANCELLED:
        return Done()
    if not facts.is_open:
        raise NotNow(state, f"it is {state} already")
    if states and state not in states:
        raise NotNow(state, f"it is {state} by now")
    try:
        if await stop(client, facts, how) and facts.spec is not None:
            _count_end(facts.spec)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        ended = state_of(await _known(fetch(client, job.id)), datetime.now(UTC))
        if ended is not State.CANCELLED:
            raise NotNow(ended, f"it is {ended} already") from None
    return Done()


def _count_end(job: JobSpec) -> None:
    """A job was brought to its end here: its workflow does not count it."""
    labels = {"kind": job.kind, "queue": job.queue, "outcome": State.CANCELLED.value}
    counter = activity.metric_meter().create_counter(names.JOBS_FINISHED.name, names.JOBS_FINISHED.help)
    counter.add(1, labels)


async def _goes_on(client: Client, job: JobRef, facts: Facts) -> bool:
    """Whether the job in the set is the one that `facts` tell of, with a fresh history."""
    before = await _known(fetch(client, job.id, job.run_id))
    went_on = before.status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    return went_on and before.first_run_id == facts.first_run_id


async def _known(look: Any) -> Facts:
    try:
        facts: Facts = await look
    except NotAJob:
        raise NotNow("gone", "something else has its id") from None
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise NotNow("gone", "the server does not keep it any more") from None
        raise
    return facts
