"""How the jobs that another one waits for have ended: asked of the server, again until all have."""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.states import State
from duetime.jobs.names import DEPENDENT
from duetime.jobs.names import PREDECESSORS as PREDECESSORS

_FINAL = {
    WorkflowExecutionStatus.COMPLETED: State.SUCCEEDED,
    WorkflowExecutionStatus.FAILED: State.FAILED,
    WorkflowExecutionStatus.CANCELED: State.CANCELLED,
    WorkflowExecutionStatus.TERMINATED: State.CANCELLED,
    WorkflowExecutionStatus.TIMED_OUT: State.EXPIRED,
}
_AT_ONCE = asyncio.Semaphore(20)


class PredecessorCheck:
    """Looks jobs up; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=PREDECESSORS)
    async def check(self, job_ids: list[str]) -> dict[str, Any]:
        """`{"states": {id: final state}}` once all have ended or one has not succeeded; fails to be retried before.

        The first time it also registers the asking job with those that are open.
        """
        first = activity.info().attempt == 1
        states = dict(
            zip(job_ids, await asyncio.gather(*(self._look(i, first) for i in job_ids)), strict=True)
        )
        ended = {job_id: state for job_id, state in states.items() if state is not None}
        if len(ended) == len(states) or any(state is not State.SUCCEEDED for state in ended.values()):
            return {"states": ended}
        still = len(states) - len(ended)
        raise ApplicationError(
            f"{still} of {len(states)} jobs have not ended yet",
            type="StillOpen",
            next_retry_delay=timedelta(seconds=min(5 * 1.5 ** (activity.info().attempt - 1), 60)),
            category=ApplicationErrorCategory.BENIGN,
        )

    async def _look(self, job_id: str, register: bool) -> State | None:
        """The final state of a job, or `None`; one that nobody knows any more counts as failed."""
        async with _AT_ONCE:
            state = await self._state(job_id)
            if state is None and register and not await self._register(job_id):
                state = await self._state(job_id)
            return state

    async def _state(self, job_id: str) -> State | None:
        try:
            described = await self._client.get_workflow_handle(job_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return State.FAILED
            raise
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
