"""Counts of jobs, by state if asked.

The index knows which jobs are open, which of those are due, and how each of the others ended. What a due job is doing
takes a look at each. Up to 2,000 are looked at; when there are more, these are drawn from them, and the rest is taken
to be like them.
"""

import copy
from collections import Counter
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from temporalio.client import Client

from api.jobs import query
from api.jobs.filters import JobFilter
from api.jobs.index import MOST, Index, Row
from api.jobs.looking import Bounds, Looking
from api.patience import answer_in_time
from api.security.caller import Caller
from duetime.contracts.states import State
from duetime.contracts.view import JobCounts
from duetime.jobs.state import state_of

Key = TypeVar("Key", bound=Hashable)
Tally = Mapping[State, int]


def scale(tally: Mapping[Key, int], total: int) -> dict[Key, int]:
    """`tally` blown up to `total` in proportion; the parts add up to it exactly (largest remainders)."""
    seen = sum(tally.values())
    exact = {key: count * total / seen for key, count in tally.items()} if seen else {}
    parts = {key: int(share) for key, share in exact.items()}
    by_remainder = sorted(exact, key=lambda key: parts[key] - exact[key])
    for key in by_remainder[: total - sum(parts.values())]:
        parts[key] += 1
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

    def __init__(self, client: Client, bounds: Bounds | None = None) -> None:
        self._client = client
        self._index = Index(client)
        self._looking = Looking(client, self._index, bounds)

    def seen_by(self, caller: Caller) -> "Counting":
        """The same for another caller."""
        other = copy.copy(self)
        other._index = self._index.seen_by(caller)
        other._looking = self._looking.through(other._index)
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
        sample, everyone = await self._looking.sample(query.all_of(jobs, query.due(now)))
        seen, all_seen = await self._look(sample)
        found = Counter(scale(seen, running - scheduled))
        found[State.SCHEDULED] += scheduled
        return found, everyone and all_seen

    async def _look(self, rows: list[Row]) -> tuple[Counter[State], bool]:
        """The states of the rows, and whether all could be looked at in time."""
        seen, all_seen = await self._looking.look(rows)
        now = datetime.now(UTC)
        return Counter(state_of(facts, now) for _, facts in seen), all_seen
