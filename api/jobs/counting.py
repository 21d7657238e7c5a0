"""Counts of jobs, by state if asked.

The index knows which jobs are open, which of those are due, and how each of the others ended. What a due job is doing
takes a look at each. Up to 2,000 are looked at; when there are more, these are drawn from them, and the rest is taken
to be like them.
"""

import asyncio
import copy
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from api.jobs import query
from api.jobs.facts import fetch, glance
from api.jobs.filters import JobFilter
from api.jobs.index import MOST, Index, Row
from api.jobs.state import state_of
from api.patience import answer_in_time
from api.problems import unavailable
from api.security.caller import Caller
from api.together import together
from duetime.contracts.record import View
from duetime.contracts.states import State
from duetime.contracts.view import JobCounts

#: Due jobs looked at for one count, at most, and for how many seconds.
MOST_LOOKED_AT = 2_000
_LONG_ENOUGH = 2.5
#: Answers of `MOST` rows from which they are taken.
_ANSWERS = 10
_AT_ONCE = 32

Tally = Mapping[State, int]


def scale(tally: Tally, total: int) -> dict[State, int]:
    """`tally` blown up to `total` in proportion; the parts add up to it exactly (largest remainders)."""
    seen = sum(tally.values())
    exact = {state: count * total / seen for state, count in tally.items()} if seen else {}
    parts = {state: int(share) for state, share in exact.items()}
    by_remainder = sorted(exact, key=lambda state: parts[state] - exact[state])
    for state in by_remainder[: total - sum(parts.values())]:
        parts[state] += 1
    return parts


def by_final_state(statuses: Mapping[str, int], outcomes: Tally) -> dict[State, int]:
    """Finished jobs by state, of how many there are with each execution status and which outcomes failed ones have."""
    found = Counter(outcomes)
    found[State.SUCCEEDED] += statuses.get("Completed", 0)
    found[State.CANCELLED] += statuses.get("Canceled", 0) + statuses.get("Terminated", 0)
    found[State.EXPIRED] += statuses.get("TimedOut", 0)
    found[State.FAILED] += statuses.get("Failed", 0) - sum(outcomes.values())
    return dict(found)


class Counting:
    """Counts."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._index = Index(client)
        self._places = asyncio.Semaphore(_AT_ONCE)

    def seen_by(self, caller: Caller) -> "Counting":
        """The same for another caller."""
        other = copy.copy(self)
        other._index = self._index.seen_by(caller)
        return other

    async def count(self, wanted: JobFilter, by_state: bool) -> JobCounts:
        """How many jobs `wanted` holds, and in which states if asked."""
        return await answer_in_time(self._count(wanted, by_state))

    async def _count(self, wanted: JobFilter, by_state: bool) -> JobCounts:
        jobs = query.all_of(query.jobs(wanted), query.NOT_CONTINUED)
        if not by_state and not wanted.state:
            return JobCounts(total=await self._index.count(jobs))
        statuses = await self._index.count_by_status(jobs)
        states = Counter(by_final_state(statuses, await self._outcomes(wanted, statuses.get("Failed", 0))))
        exact = True
        if wanted.open_states:
            opened, exact = await self._open(wanted, statuses.get("Running", 0))
            states.update(opened)
        asked = {state: states[state] for state in State if not wanted.state or state in wanted.state}
        total = sum(asked.values())
        return JobCounts(total=total, states=asked if by_state else None, approximate=not exact)

    async def _outcomes(self, wanted: JobFilter, failed: int) -> dict[State, int]:
        """The failed executions that are jobs of another final state than `failed`."""
        found: dict[State, int] = {}
        for state in sorted(query.BY_OUTCOME) if failed and wanted.final_states else ():
            count = await self._index.count(query.all_of(query.jobs(wanted), query.ended_as(state)))
            found[state] = min(count, failed - sum(found.values()))
        return found

    async def _open(self, wanted: JobFilter, running: int) -> tuple[Tally, bool]:
        """The `running` executions by state, and whether that is exact."""
        now, jobs = datetime.now(UTC), query.jobs(wanted)
        scheduled = min(running, await self._index.count(query.all_of(jobs, query.scheduled(now))))
        if wanted.open_states == {State.SCHEDULED}:
            unknown, _ = await self._index.rows(query.all_of(jobs, query.no_due_time()), MOST)
            seen, all_seen = await self._look(unknown)
            return {State.SCHEDULED: scheduled + seen[State.SCHEDULED]}, all_seen and len(unknown) < MOST
        if scheduled == running:
            return {State.SCHEDULED: scheduled}, True
        sample, everyone = await self._sample(query.all_of(jobs, query.due(now)))
        seen, all_seen = await self._look(sample)
        found = Counter(scale(seen, running - scheduled))
        found[State.SCHEDULED] += scheduled
        return found, everyone and all_seen

    async def _sample(self, text: str) -> tuple[list[Row], bool]:
        """Due jobs to look at, in no order, and whether these are all."""
        rows, token = await self._index.rows(text, MOST)
        for _ in range(_ANSWERS - 1):
            if not token:
                break
            more, token = await self._index.rows(text, MOST, token)
            rows += more
        everyone = not token and len(rows) <= MOST_LOOKED_AT
        sample = rows if everyone else secrets.SystemRandom().sample(rows, MOST_LOOKED_AT)
        return sample, everyone

    async def _look(self, rows: list[Row]) -> tuple[Counter[State], bool]:
        """The states of the rows, and whether all could be looked at in time. Those that are gone are left out."""
        seen: Counter[State] = Counter()

        async def look(row: Row) -> None:
            async with self._places:
                state = await self._state(row)
            if state is not None:
                seen[state] += 1

        try:
            async with asyncio.timeout(_LONG_ENOUGH):
                await together(look(row) for row in rows)
        except TimeoutError:
            if not seen:
                raise unavailable("the states of due jobs could not be read in time") from None
            return seen, False
        return seen, True

    async def _state(self, row: Row) -> State | None:
        try:
            if row.due_at is None:
                facts = await fetch(self._client, row.id, row.run_id)
            else:
                facts = await glance(self._client, row.id, row.run_id)
                facts = facts if facts.view else replace(facts, view=View(due_at=row.due_at))
            if facts.status is WorkflowExecutionStatus.CONTINUED_AS_NEW:
                facts = await fetch(self._client, row.id)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        return state_of(facts, datetime.now(UTC))
