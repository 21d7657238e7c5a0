"""One job after others: what a job waits for, and whom it tells when it ends.

A job registers with those it waits for by a signal, and each tells it when it ends: no polling while all goes well. A
job that is terminated tells nobody; an activity that the server repeats at growing intervals finds that out.
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import TemporalError

from duetime.contracts.states import State

#: Signals: "tell me when you end" with an id, and "I have ended" with an id and a state.
DEPENDENT, PREDECESSOR = "dependent", "predecessor"
#: External signals under way at once; the server fails a workflow task at 2,000.
_AT_ONCE = 200


class Dependents:
    """The jobs that wait for this one."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def add(self, job_id: str) -> None:
        self._ids[job_id] = None

    @property
    def ids(self) -> list[str]:
        return list(self._ids)

    async def tell(self, state: State) -> None:
        """Tells all of them how this job ended, those that register meanwhile included."""
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
