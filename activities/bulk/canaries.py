"""Canaries: the first jobs of an operation, which must succeed before the others may have their turn."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.bulk import Fault, JobRef
from duetime.contracts.record import cut
from duetime.contracts.states import FINAL, State
from duetime.jobs.facts import NotAJob, fetch
from duetime.jobs.state import state_of

#: The name of the activity.
AWAIT_CANARIES = "duetime.bulk-canaries"

_FIRST_LOOK, _LONGEST_LOOK_AWAY = 0.3, 5.0
_SAYS = 300


class CanaryWatch:
    """Looks jobs up; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=AWAIT_CANARIES)
    async def watch(self, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A `Fault` for each of these jobs that did not succeed, once all have ended."""
        left = [JobRef.model_validate(job) for job in jobs]
        lost: list[Fault] = []
        wait = _FIRST_LOOK
        while left:
            still = []
            for job in left:
                ended = await self._ended(job)
                activity.heartbeat()
                if ended is None:
                    still.append(job)
                elif ended.reason != State.SUCCEEDED:
                    lost.append(ended)
            left = still
            if left:
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, _LONGEST_LOOK_AWAY)
                activity.heartbeat()
        return [fault.model_dump(mode="json") for fault in lost]

    async def _ended(self, job: JobRef) -> Fault | None:
        """How the job ended, its state being the reason; `None` while it is open."""
        try:
            facts = await fetch(self._client, job.id)
        except NotAJob:
            return Fault(id=job.id, reason="gone")
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return Fault(id=job.id, reason="gone")
            raise
        state = state_of(facts, datetime.now(UTC))
        if state not in FINAL:
            return None
        error_ = facts.error
        return Fault(
            id=job.id, reason=state, says=cut(f"{error_.type}: {error_.message}", _SAYS) if error_ else ""
        )
