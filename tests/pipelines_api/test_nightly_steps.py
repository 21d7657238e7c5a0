"""The steps of the nightly example, each for itself: what is done twice is done once."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import examples.nightly as nightly
from duetime import Job, errors, handler
from duetime.settings import load_settings
from duetime.testing import FakeDuetime, WorkerDied
from tests.support.postgres import PostgresServer, postgres_server

__all__ = ["postgres_server"]

DAY = "2027-01-15"


@pytest.fixture(autouse=True, params=["sqlite", "postgresql"])
def _database(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A new database of either kind, named as a worker's environment names it."""
    url = f"sqlite:///{tmp_path / 'data' / 'nightly.db'}"
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = f"{server.url}?options=-csearch_path%3D{server.create_schema()}"
    monkeypatch.setenv("DUETIME_LEDGER_URL", url)
    yield
    nightly.database().dispose()


@pytest.fixture
def fake() -> FakeDuetime:
    found = FakeDuetime()
    found.register(nightly)
    return found


def rows_of(day: str) -> list[tuple[int, str, int]]:
    """What the table has of a day."""
    orders = nightly.ORDERS.c
    wanted = (
        select(orders.number, orders.customer, orders.cents).where(orders.day == day).order_by(orders.number)
    )
    with nightly.database().connect() as connection:
        return [tuple(row) for row in connection.execute(wanted)]


async def night(fake: FakeDuetime) -> dict[str, Any]:
    """The steps by hand, in their order; what the last one reported."""
    client = fake.client()
    extracted = await client.run("nightly.extract", {"day": DAY})
    checked = await client.run("nightly.check", extracted)
    loaded = await client.run("nightly.load", {"day": DAY, "rows": checked["rows"]})
    assert loaded == {"loaded": len(checked["rows"])}
    return dict(await client.run("nightly.report", {"day": DAY, "refused": checked["refused"]}))


async def test_two_nights_over_one_day_leave_the_same_rows(fake: FakeDuetime) -> None:
    first = await night(fake)
    kept = rows_of(DAY)
    assert len(kept) == first["orders"] > 50
    assert first["refused"] == 3
    assert first["total"] == pytest.approx(sum(cents for *_, cents in kept) / 100)
    assert await night(fake) == first
    assert rows_of(DAY) == kept


async def test_a_worker_that_dies_after_its_commit_loads_once(fake: FakeDuetime) -> None:
    done: list[Any] = []

    @handler("nightly.load")
    def load(given: nightly.Load, job: Job) -> dict[str, int]:
        done.append(nightly.load(given, job))
        if job.attempt == 1:
            raise WorkerDied
        return dict(done[-1])

    one = {"number": 1, "customer": "Eze", "cents": 100}
    fake.register(load)
    assert await fake.client().run("nightly.load", {"day": DAY, "rows": [one]}) == {"loaded": 1}
    assert done == [{"loaded": 1}] * 2
    assert rows_of(DAY) == [(1, "Eze", 100)]


async def test_a_source_that_is_not_well_is_refused_for_good(fake: FakeDuetime) -> None:
    bad = [{"number": n, "customer": "Berg", "cents": -1} for n in range(5)]
    with pytest.raises(errors.JobFailed) as failed:
        await fake.client().run("nightly.check", {"rows": bad})
    assert failed.value.error is not None
    assert failed.value.error.type == "Rejected"
    assert len(failed.value.attempts) == 1


async def test_workers_that_start_at_once_make_the_tables_once() -> None:
    """Each with an engine of its own, as other processes have."""
    makers = [
        asyncio.to_thread(nightly._engine.__wrapped__, load_settings().ledger_address) for _ in range(6)
    ]
    for engine in await asyncio.gather(*makers):
        engine.dispose()
    assert rows_of(DAY) == []
