"""How another project tests with Duetime in memory: `pytest examples/test_reminders.py`."""

import asyncio
from datetime import UTC, datetime

from duetime import Client, Job, handler
from duetime.testing import FakeDuetime, WorkerDied

MONDAY = datetime(2027, 1, 18, 9, tzinfo=UTC)


async def book(client: Client, patient: str, at: datetime) -> str:
    """The code under test: an appointment, and a reminder the day before."""
    job = await client.submit("clinic.remind", {"patient": patient}, id=f"reminder-{patient}", run_at=at)
    return job.id


def test_the_reminder_goes_out_the_day_before() -> None:
    sent: list[tuple[str, datetime]] = []
    fake = FakeDuetime(now=MONDAY)

    @handler("clinic.remind")
    async def remind(payload: dict[str, str]) -> None:
        sent.append((payload["patient"], fake.now))

    async def test() -> None:
        fake.register(remind)
        tuesday = MONDAY.replace(day=19)
        await book(fake.client(), "ann", tuesday)
        await fake.advance("23h")
        assert sent == []
        await fake.advance("1h")
        assert sent == [("ann", tuesday)]

    asyncio.run(test())


def test_an_import_goes_on_where_its_worker_died() -> None:
    seen: list[int] = []

    @handler("clinic.import", retry={"max_attempts": 2})
    async def import_rows(payload: dict[str, int], job: Job) -> int:
        for row in range(job.checkpoint or 0, payload["rows"]):
            seen.append(row)
            await job.save_checkpoint(row + 1)
            if row == 1 and job.attempt == 1:
                raise WorkerDied
        return len(seen)

    fake = FakeDuetime()
    fake.register(import_rows)
    with fake.sync_client() as client:
        assert client.run("clinic.import", {"rows": 4}) == 4
    assert seen == [0, 1, 2, 3]
