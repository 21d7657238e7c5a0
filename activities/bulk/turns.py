"""Turns: the next jobs of a set are acted on, at the rate of their operation.

Each job is acted on once although the worker dies in the middle. What is done is told in every heartbeat; the few that
were acted on after the last one are found done, and counted, by whoever goes on.
"""

import asyncio
import time
from typing import Any

from pydantic import Field
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.bulk.acting import Done, cancel, retry
from activities.bulk.freezing import read_set
from duetime.contracts.bulk import Action, Fault, JobRef, Tally
from duetime.contracts.record import Part, cut
from duetime.contracts.requests import CancelRequest, RedriveRequest
from duetime.contracts.states import State
from duetime.jobs.refusal import NotNow

#: The name of the activity.
TAKE_TURNS = "duetime.bulk-turns"

#: Jobs that are acted on at the same time.
_AT_ONCE = 8
_SAYS = 300
#: What the server may say on a bad day, and not of this job.
_PASSING = {
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.ABORTED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.PERMISSION_DENIED,
}


class TurnsRequest(Part):
    """Whose turn it is: jobs of set `number` from position `begin`, `most` of them at most."""

    operation: str
    number: int
    begin: int
    most: int
    action: Action
    how: dict[str, Any] = Field(default_factory=dict)
    states: list[State] = Field(default_factory=list)
    rate: float
    #: Whether the runs that begin are asked for.
    canary: bool = False


class Turns(Part):
    """How far it came: the position of the next job, what became of those before it, and the runs that began."""

    next: int
    tally: Tally = Tally()
    began: list[JobRef] = Field(default_factory=list)
    #: Whether the set is at its end.
    over: bool = False


class TurnTaker:
    """Acts on jobs; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=TAKE_TURNS)
    async def take(self, request: dict[str, Any]) -> dict[str, Any]:
        """`Turns`, as JSON. Fails, to be tried again, while the server cannot be asked."""
        wanted = TurnsRequest.model_validate(request)
        jobs, _ = await read_set(self._client, wanted.operation, wanted.number)
        told = activity.info().heartbeat_details
        turns = Turns.model_validate(told[0]) if told else Turns(next=wanted.begin)
        end = min(len(jobs), wanted.begin + wanted.most)
        began, already = time.monotonic(), turns.next
        width = max(1, min(_AT_ONCE, round(wanted.rate / 10)))
        while turns.next < end:
            due = began + (turns.next - already) / wanted.rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            group = jobs[turns.next : min(end, turns.next + width)]
            ended = await asyncio.gather(*(self._turn(job, wanted) for job in group))
            turns = _after(turns, group, ended, wanted.canary)
            activity.heartbeat(turns.model_dump(mode="json"))
        # Nobody is to have more than its share: the next batch begins when this one's time is over.
        await asyncio.sleep(max(0.0, began + (turns.next - already) / wanted.rate - time.monotonic()))
        return turns.model_copy(update={"over": turns.next >= len(jobs)}).model_dump(mode="json")

    async def _turn(self, job: JobRef, wanted: TurnsRequest) -> Done | NotNow | Fault:
        try:
            if wanted.action == "retry":
                return await retry(self._client, job, RedriveRequest.model_validate(wanted.how))
            how = CancelRequest.model_validate(wanted.how)
            return await cancel(self._client, job, how, frozenset(wanted.states))
        except NotNow as refused:
            return refused
        except RPCError as error:
            if error.status in _PASSING:
                raise
            return Fault(id=job.id, reason="refused", says=cut(error.message, _SAYS))
        except Exception as error:  # One odd job must not keep all others from their turn.
            activity.logger.exception("job %s could not be acted on", job.id)
            return Fault(id=job.id, reason="internal", says=cut(f"{type(error).__name__}: {error}", _SAYS))


def _after(turns: Turns, jobs: list[JobRef], ended: list[Done | NotNow | Fault], names_runs: bool) -> Turns:
    """`turns` with what became of the next `jobs`."""
    tally, began = turns.tally, list(turns.began)
    for job, end in zip(jobs, ended, strict=True):
        match end:
            case Done():
                one = Tally(done=1)
                if names_runs:
                    began.append(JobRef(id=job.id, run_id=end.run_id))
            case NotNow():
                fault = Fault(id=job.id, reason=end.reason, says=cut(str(end), _SAYS))
                one = Tally(skipped={end.reason: 1}, faults=[fault])
            case Fault():
                one = Tally(failed=1, faults=[end])
        tally = tally.plus(one)
    return Turns(next=turns.next + len(jobs), tally=tally, began=began)
