"""Callers that submit jobs at a steady rate, and repeat what was not answered, as the contract tells them to."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import httpx2

from duetime.runtime import clock
from tests.faults.books import Books, Entry
from tests.faults.checker import Accepted
from tests.faults.journal import Journal
from tests.faults.world import LEASE, QUEUE, World

#: Patient jobs: what a fault costs them must not end them.
_RETRY = {"max_attempts": 100, "initial_interval": "1s", "max_interval": "2s"}


@dataclass
class Load:
    """At least `jobs` jobs, `rate` a second, and more of them until `enough` is set.

    `accepted` has those with an answer, `submitted` all that were tried.
    """

    world: World
    seed: int
    jobs: int
    rate: float
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    accepted: list[Accepted] = field(default_factory=list)
    submitted: set[str] = field(default_factory=set)
    #: Where each job is taken down as well.
    books: Books = field(default_factory=Books)
    #: Calls that were repeated because nobody knew what had become of them.
    repeated: int = 0

    async def run(self) -> None:
        """Submits them; returns when each has its answer."""
        journal = Journal(self.world.folder / "accepted.jsonl")
        calls: list[asyncio.Task[None]] = []
        while len(calls) < self.jobs or not self.enough.is_set():
            calls.append(asyncio.create_task(self._submit(len(calls), journal)))
            await asyncio.sleep(1 / self.rate)
        await asyncio.gather(*calls)

    async def _submit(self, number: int, journal: Journal) -> None:
        choice = random.Random(f"{self.seed} {number}")
        job_id = f"f{self.seed}-{number:05d}"
        kind, payload, accepted = _job(choice, job_id)
        body = {
            "kind": kind,
            "payload": payload,
            "id": job_id,
            "queue": QUEUE,
            "lease": f"{LEASE}s",
            "timeout": "60s",
            "retry": _RETRY,
            # Some are told apart in the backlog, the others share a few keys.
            "fairness_key": job_id if number % 3 == 0 else f"tenant-{number % 7}",
        }
        headers = {"Idempotency-Key": f"key-{job_id}"} if choice.random() < 0.5 else {}
        self.submitted.add(job_id)
        entry = Entry(job_id, kind, str(body["fairness_key"]), QUEUE, clock.now())
        self.books.entries[job_id] = entry
        tries = 0
        while True:
            api = (number + tries) % len(self.world.apis)
            if await self._post(api, body, headers, first=tries == 0):
                break
            tries += 1
            await asyncio.sleep(0.2)
        entry.accepted = clock.now()
        self.repeated += tries
        await asyncio.to_thread(journal.write, "accepted", job=job_id, kind=kind)
        self.accepted.append(accepted)

    async def _post(self, api: int, body: dict[str, Any], headers: dict[str, str], *, first: bool) -> bool:
        """Whether there is an answer that the job is accepted."""
        try:
            answer = await self.world.post("/v1/jobs", body, api=api, **headers)
        except httpx2.HTTPError:
            return False
        if answer.status_code in (200, 201):
            return True
        # Without a key a job that an unanswered call did make is in the way of its repetition.
        if answer.status_code == 409 and not first:
            assert answer.json()["job"]["id"] == body["id"], answer.text
            return True
        assert answer.status_code == 503, answer.text
        return False


def _job(choice: random.Random, job_id: str) -> tuple[str, dict[str, Any], Accepted]:
    ledger = choice.choice(("postgresql", "postgresql", "sqlite"))
    kind = choice.choices(
        ("fault.effect", "fault.thread", "fault.steps", "fault.flaky", "command"), (40, 25, 20, 10, 5)
    )[0]
    match kind:
        case "fault.steps":
            count = choice.randint(2, 5)
            payload: dict[str, Any] = {"ledger": ledger, "steps": count, "work": choice.uniform(0, 1)}
            return kind, payload, Accepted(job_id, kind, ledger, effects=count, lease=LEASE)
        case "fault.flaky":
            payload = {"ledger": ledger, "failures": choice.randint(1, 2)}
            return kind, payload, Accepted(job_id, kind, ledger, lease=LEASE)
        case "command":
            return kind, {"shell": f"sleep {choice.uniform(0, 1):.2f}"}, Accepted(job_id, kind, lease=LEASE)
    # Some are in the middle of a transaction for a while, where that holds up nobody else.
    pause = choice.uniform(0, 0.5) if ledger == "postgresql" and choice.random() < 0.4 else 0
    payload = {"ledger": ledger, "work": choice.uniform(0, 2.5), "pause": pause}
    return kind, payload, Accepted(job_id, kind, ledger, lease=LEASE)
