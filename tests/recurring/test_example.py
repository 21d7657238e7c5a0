"""The nightly example as a schedule: applied from a shell, it reports on the day before its nominal time."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from temporalio.client import Client as TemporalClient

import examples.nightly as nightly
from duetime.cli.main import run
from duetime.contracts.instants import parse_instant
from duetime.worker import Worker
from tests.api.conftest import serving
from tests.recurring.conftest import Recurring

FILE = Path(__file__).parents[2] / "examples/nightly-schedule.json"


@pytest.fixture(scope="session")
async def address(http: httpx2.AsyncClient, schedule_app: FastAPI) -> AsyncIterator[str]:
    async with serving(schedule_app) as address:
        yield address


async def duetime(*arguments: str) -> int:
    """The command line, which has no event loop."""
    return await asyncio.to_thread(run, [*arguments])


async def test_a_night_is_about_the_day_before(
    recurring: Recurring,
    client: TemporalClient,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DUETIME_LEDGER_URL", f"sqlite:///{tmp_path / 'nightly.db'}")
    monkeypatch.setenv("DUETIME_URL", address)
    (schedule,) = json.loads(FILE.read_text())
    schedule["id"] = recurring.id
    for job in schedule["pipeline"]["jobs"].values():
        job["queue"] = recurring.queue
    file = tmp_path / "nightly-schedule.json"
    file.write_text(json.dumps([schedule]))
    async with Worker(client, [nightly], queues=[recurring.queue]):
        assert await duetime("schedules", "apply", str(file), "--dry-run") == 0
        assert f"+ {recurring.id}" in capsys.readouterr().out
        assert await duetime("schedules", "apply", str(file)) == 0
        assert await duetime("schedules", "list", "--kind", "nightly.load") == 0
        assert "nightly.alert, nightly.check" in capsys.readouterr().out
        assert await duetime("schedules", "trigger", recurring.id) == 0
        (begun,) = await recurring.until_begun(1)
        assert begun["id"] in capsys.readouterr().out
        final = await recurring.final(begun["id"])
        assert final["state"] == "succeeded"
        assert await duetime("pipelines", "list", "--schedule", recurring.id) == 0
        assert begun["id"] in capsys.readouterr().out
        assert await duetime("schedules", "get", recurring.id) == 0
        assert begun["id"] in " ".join(capsys.readouterr().out.split())
    report = (await recurring.http.get(f"/v1/jobs/{begun['id']}~report")).json()
    day = parse_instant(final["nominal_time"]).date() - timedelta(days=1)
    assert report["result"]["day"] == day.isoformat() and report["result"]["orders"] > 50
    nightly.database().dispose()
