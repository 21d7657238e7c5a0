"""Reads the backlog again and again while everything breaks, and keeps our own account of the jobs beside it."""

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any

import httpx2
from temporalio.service import RPCError

from duetime.runtime import clock
from tests.faults.books import Books, Entry, Reading, place_of
from tests.faults.world import LEASE, QUEUE, World
from tests.support.waiting import eventually

#: Seconds between two looks: it must not be a load of its own.
_PAUSE = 1.5
#: Seconds for the index to tell what it knows.
_PATIENCE = 5.0
BYS = ("queue", "kind", "fairness_key")
_EMPTY, _PAUSED = "parked-nobody-polls", "parked-paused"


@dataclass
class Auditor:
    """Reads through all API instances by turns."""

    world: World
    books: Books = field(default_factory=Books)

    async def park(self) -> list[str]:
        """Puts a job into every place where one can stay, whatever breaks; their ids."""
        answer = await self.world.post(f"/v1/queues/{_PAUSED}:pause", {"reason": "for good"})
        assert answer.is_success, answer.text
        limit = {"key": "parked", "limit": 1}
        slow = {"max_attempts": 5, "initial_interval": "12h", "max_interval": "12h"}
        quick = {"max_attempts": 100, "initial_interval": "1s", "max_interval": "2s"}
        flaky: dict[str, Any] = {"kind": "fault.flaky", "payload": {"ledger": "sqlite", "failures": 1}}
        long: dict[str, Any] = {"kind": "fault.long", "payload": {"seconds": 36_000}, "timeout": "10h"}
        first = await self._park("scheduled", delay="24h")
        made = [
            first,
            await self._park("waiting", after=[first]),
            await self._park("paused", queue=_PAUSED),
            await self._park("queued", queue=_EMPTY, concurrency=limit),
            await self._park("retrying", **flaky, retry=slow),
            await self._park("running", **long, retry=quick, lease=f"{LEASE}s"),
        ]
        await self._arrived(made)
        # Only now is it sure who has the one place.
        made.append(await self._park("limited", queue=_EMPTY, concurrency=limit))
        await self._arrived(made)
        return made

    async def _park(self, place: str, **fields: Any) -> str:
        job_id = f"parked-{place}"
        job = {"kind": "fault.effect", "queue": QUEUE, "id": job_id, "fairness_key": job_id, **fields}
        entry = Entry(job_id, job["kind"], job_id, job["queue"], clock.now(), place=place)
        answer = await self.world.post("/v1/jobs", job)
        assert answer.status_code == 201, answer.text
        entry.accepted = clock.now()
        self.books.entries[job_id] = entry
        return job_id

    async def _arrived(self, parked: list[str]) -> None:
        await eventually(lambda: self._are_there(parked))

    async def _are_there(self, parked: list[str]) -> bool:
        return await self._told() == {one: self.books.entries[one].place for one in parked}

    async def run(self) -> None:
        """Looks until it is cancelled."""
        for number in itertools.count():
            await self.look(BYS[number % 3], api=number // 3 % len(self.world.apis))
            await asyncio.sleep(_PAUSE)

    async def look(self, by: str, api: int = 0) -> None:
        """One look, into the books; the processes that answer it may be dead."""
        probed = clock.now()
        try:
            async with asyncio.timeout(_PATIENCE):
                indexed = await self._indexed()
            begin = clock.now()
            answer = await self.world.http.get(f"{self.world.apis[api].url}/v1/backlog?by={by}")
        except (TimeoutError, RPCError, httpx2.HTTPError):
            self.books.unanswered += 1
            return
        if answer.status_code == 200:
            self.books.readings.append(Reading(by, begin, clock.now(), answer.json(), indexed, probed))
        elif answer.status_code == 503:
            self.books.unanswered += 1
        else:
            self.books.refusals.append(f"{answer.status_code}: {answer.text[:500]}")

    async def _indexed(self) -> frozenset[str]:
        query = "WorkflowType = 'Job' AND ExecutionStatus = 'Running'"
        return frozenset([one.id async for one in self.world.client.list_workflows(query)])

    async def rest(self, patience: float = 30.0) -> None:
        """Nothing runs any more but what is parked: takes down how long it is until all instances tell exactly that."""
        begun = clock.now()
        left = {entry.job: entry.place for entry in self.books.entries.values() if entry.place is not None}
        while clock.now() < begun + patience:
            told = [await self._told(api) for api in range(len(self.world.apis))]
            self.books.left = told[0]
            if all(one == left for one in told):
                self.books.rested = round(clock.now() - begun, 1)
                break
            await asyncio.sleep(0.2)
        for api, by in itertools.product(range(len(self.world.apis)), BYS):
            await self.look(by, api)
        self.books.parked = {job_id: await self.world.job(job_id) for job_id in left}

    async def _told(self, api: int = 0) -> dict[str, str | None] | None:
        """Where every open job is, by fairness key; `None` when nobody says."""
        answer = await self.world.http.get(f"{self.world.apis[api].url}/v1/backlog?by=fairness_key")
        if answer.status_code != 200 or answer.json()["approximate"]:
            return None
        return {
            str(group["name"]): place_of(group["jobs"]) if group["jobs"]["open"] == 1 else "several"
            for group in answer.json()["groups"]
        }
