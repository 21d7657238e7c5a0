"""`why`: the facts around one job, fetched, and what they mean."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client

from api.jobs.reading import Reader
from api.kinds.known import Known
from api.patience import answer_in_time
from api.queues.board import Board
from api.queues.buckets import Bucket
from api.queues.limits import read_line
from api.queues.reasons import Case, case_of, next_change, reasons
from api.queues.suggestions import suggestions
from api.together import together
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.states import State
from duetime.contracts.why import WhyView
from duetime.jobs.facts import Facts
from duetime.jobs.state import state_of


class Explainer:
    """Says why a job is where it is."""

    def __init__(self, client: Client, board: Board, known: Known) -> None:
        self._client = client
        self._board = board
        self._known = known

    async def why(self, job_id: str, reader: Reader) -> WhyView:
        """The reasons, when they change by themselves, and what a person can do."""
        return await answer_in_time(self._why(job_id, reader))

    async def _why(self, job_id: str, reader: Reader) -> WhyView:
        case = await self._case(await reader.facts(job_id), reader)
        blocked = reasons(case)
        return WhyView(
            state=case.job.state,
            blocked=blocked,
            next_change_at=next_change(case),
            suggestions=suggestions(case, blocked, self._temporal()),
        )

    async def _case(self, facts: Facts, reader: Reader) -> Case:
        bare = case_of(facts, datetime.now(UTC))
        around: dict[str, Any] = {}
        match bare.bucket:
            case None | Bucket.SCHEDULED | Bucket.RUNNING:
                pass
            case Bucket.WAITING:
                around["others"], around["orchestrators"] = await asyncio.gather(
                    self._others(bare.spec.after, reader), self._board.workers(ORCHESTRATION_QUEUE)
                )
            case _:
                around = await self._around_queue(bare.spec.queue, bare.spec.kind)
        if bare.bucket is Bucket.LIMITED and facts.view is not None:
            around |= await self._around_limit(facts.view.limits[-1], facts.id, reader)
        return case_of(facts, datetime.now(UTC), **around)

    async def _around_queue(self, queue: str, kind: str) -> dict[str, Any]:
        lane, workers, orchestrators, kinds = await asyncio.gather(
            self._board.lane(queue),
            self._board.workers(queue),
            self._board.workers(ORCHESTRATION_QUEUE),
            self._known.kind(kind, queue),
        )
        return {
            "lane": lane,
            "workers": workers,
            "orchestrators": orchestrators,
            "announced_on": sorted(kinds),
        }

    async def _around_limit(self, limit_id: str, job_id: str, reader: Reader) -> dict[str, Any]:
        line = await read_line(self._client, limit_id, job_id)
        names = [holder.job for holder in line.holders] if line else []
        return {"line": line, "holders": await self._others(names, reader)}

    async def _others(self, job_ids: list[str], reader: Reader) -> dict[str, State | None]:
        """The states of other jobs, those alone that the caller may see."""
        found = await together(reader.known(job_id) for job_id in job_ids)
        now = datetime.now(UTC)
        states = [state_of(facts, now) if facts else None for facts in found]
        return dict(zip(job_ids, states, strict=True))

    def _temporal(self) -> str:
        """The options that lead the Temporal CLI to our jobs."""
        return (
            f"--address {self._client.service_client.config.target_host} --namespace {self._client.namespace}"
        )
