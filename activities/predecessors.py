"""How the jobs that another one waits for have ended: asked of the server, again until all have."""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from duetime import attributes
from duetime.contracts.states import FINAL, State
from duetime.jobs.names import DEPENDENT, ENDED
from duetime.jobs.names import PREDECESSORS as PREDECESSORS

_FINAL = {
    WorkflowExecutionStatus.COMPLETED: State.SUCCEEDED,
    WorkflowExecutionStatus.CANCELED: State.CANCELLED,
    WorkflowExecutionStatus.TERMINATED: State.CANCELLED,
    WorkflowExecutionStatus.TIMED_OUT: State.EXPIRED,
}
_AT_ONCE = asyncio.Semaphore(20)


def look_again_after(looks: int) -> timedelta:
    """How long until the next look, for ends that nobody told of."""
    return timedelta(seconds=min(5 * 1.5 ** (looks - 1), 60))


class PredecessorCheck:
    """Looks jobs up; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=PREDECESSORS)
    async def check(self, job_ids: list[str]) -> dict[str, Any]:
        """`{"states": {id: final state}}` once all have ended or one has not succeeded, with those that nobody knows
        under `unknown` as well; fails to be retried before.

        The first time it also registers the asking job with those that are open, and tells it of those that have ended:
        they tell nobody any more, and without them it would not know when the last one ends.
        """
        first = activity.info().attempt == 1
        unknown: set[str] = set()
        looks = (self._look(job_id, first, unknown) for job_id in job_ids)
        states = dict(zip(job_ids, await asyncio.gather(*looks), strict=True))
        ended = {job_id: state for job_id, state in states.items() if state is not None}
        if len(ended) == len(states) or any(state is not State.SUCCEEDED for state in ended.values()):
            return {"states": ended, "unknown": {job_id: ended[job_id] for job_id in sorted(unknown)}}
        if first and ended:
            await self._tell(ended)
        still = len(states) - len(ended)
        raise ApplicationError(
            f"{still} of {len(states)} jobs have not ended yet",
            type="StillOpen",
            next_retry_delay=look_again_after(activity.info().attempt),
            category=ApplicationErrorCategory.BENIGN,
        )

    async def _tell(self, ended: dict[str, State]) -> None:
        info = activity.info()
        me = self._client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
        try:
            await me.signal(ENDED, {job_id: state.value for job_id, state in ended.items()})
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise

    async def _look(self, job_id: str, register: bool, unknown: set[str]) -> State | None:
        """The final state of a job, or `None`; one that nobody knows (any more) counts as failed, and goes to
        `unknown`."""
        async with _AT_ONCE:
            state = await self._state(job_id, unknown)
            if state is None and register and not await self._register(job_id):
                state = await self._state(job_id, unknown)
            return state

    async def _state(self, job_id: str, unknown: set[str]) -> State | None:
        try:
            described = await self._client.get_workflow_handle(job_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                unknown.add(job_id)
                return State.FAILED
            raise
        if described.status is WorkflowExecutionStatus.FAILED:
            outcome = described.typed_search_attributes.get(attributes.OUTCOME)
            return State(outcome) if outcome in FINAL else State.FAILED
        return _FINAL.get(described.status) if described.status else None

    async def _register(self, job_id: str) -> bool:
        """Asks to be told of the end; `False` when it came first."""
        try:
            me = activity.info().workflow_id
            await self._client.get_workflow_handle(job_id).signal(DEPENDENT, me)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True
