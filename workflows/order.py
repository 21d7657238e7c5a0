"""One job after others: what a job waits for, and whom it tells when it ends.

A job registers with those it waits for by a signal, and each tells it when it ends: no polling while all goes well. A
job that is terminated tells nobody; an activity that the server repeats at growing intervals finds that out.
"""

import asyncio
import contextlib
from datetime import timedelta

from pydantic import TypeAdapter
from temporalio import workflow
from temporalio.exceptions import TemporalError

from activities.predecessors import PREDECESSORS
from duetime.contracts import limits
from duetime.contracts.job import AnyJobId
from duetime.contracts.states import State
from duetime.jobs.names import DEPENDENT as DEPENDENT
from duetime.jobs.names import PREDECESSOR as PREDECESSOR

#: External signals under way at once; the server fails a workflow task at 2,000.
_AT_ONCE = 200
_JOB_ID: TypeAdapter[str] = TypeAdapter(AnyJobId)


def start_check(job_ids: list[str]) -> workflow.ActivityHandle[dict[str, dict[str, State]]]:
    """Registers with these jobs, and finds out how they ended when they do not tell."""
    check: workflow.ActivityHandle[dict[str, dict[str, State]]] = workflow.start_activity(
        PREDECESSORS,
        job_ids,
        result_type=dict[str, dict[str, State]],
        activity_id="after",
        start_to_close_timeout=timedelta(seconds=60),
        summary="waits for other jobs",
    )
    # When the jobs tell of their ends first, nobody asks how this ended.
    check.add_done_callback(lambda done: done.cancelled() or done.exception())
    return check


class Dependents:
    """The jobs that wait for this one."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def add(self, job_id: str) -> None:
        """`ValueError` for what is no id, and for one too many: that job finds out by itself, a little later."""
        if len(self._ids) >= limits.DEPENDENTS:
            raise ValueError(f"{limits.DEPENDENTS} jobs wait for this one already")
        self._ids[_JOB_ID.validate_python(job_id)] = None

    @property
    def ids(self) -> list[str]:
        return list(self._ids)

    async def tell(self, state: State) -> None:
        """Tells all of them how this job ended. Cancelling it meanwhile comes too late."""
        if self._ids:
            telling = asyncio.ensure_future(self._tell_all(state))
            while not telling.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.shield(telling)

    async def _tell_all(self, state: State) -> None:
        """Those that register meanwhile included."""
        while self._ids:
            batch = self.ids[:_AT_ONCE]
            await asyncio.gather(*(_tell(job_id, state) for job_id in batch))
            for job_id in batch:
                del self._ids[job_id]


async def _tell(job_id: str, state: State) -> None:
    told = {"id": workflow.info().workflow_id, "state": state.value}
    try:
        await workflow.get_external_workflow_handle(job_id).signal(PREDECESSOR, told)
    except TemporalError:
        workflow.logger.info("the job %s, which waited for this one, is gone", job_id)
