"""The nightly example as one runs it: the file over HTTP and from a shell, twice, with the same rows."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client as TemporalClient

import examples.nightly as nightly
from duetime import Client, State, errors
from duetime.cli.main import run
from duetime.worker import Worker
from tests.pipelines_api.test_nightly_steps import rows_of
from tests.support.waiting import eventually

FILE = Path(__file__).parents[2] / "examples/nightly.json"
DAY = "2026-11-30"


@pytest.fixture
async def night(
    address: str, client: TemporalClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str
) -> AsyncIterator[Path]:
    """The example's file with a queue of this test, whose worker has its handlers and a database of their own."""
    monkeypatch.setenv("DUETIME_LEDGER_URL", f"sqlite:///{tmp_path / 'nightly.db'}")
    monkeypatch.setenv("DUETIME_URL", address)
    spec = json.loads(FILE.read_text())
    for job in spec["jobs"].values():
        job["queue"] = queue
    file = tmp_path / "nightly.json"
    file.write_text(json.dumps(spec))
    async with Worker(client, [nightly], queues=[queue]):
        yield file
    nightly.database().dispose()


def spec_in(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text()))


async def duetime(*arguments: str) -> int:
    """The command line, which has no event loop."""
    return await asyncio.to_thread(run, ["pipelines", *arguments])


async def test_two_nights_leave_the_same_rows(
    night: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = f"nightly-{uuid.uuid4().hex[:8]}"
    assert await duetime("submit", str(night), "--id", own, "--wait") == 0
    page = capsys.readouterr().out
    assert f"{own}  succeeded" in page
    assert "critical path extract → check → load → report" in " ".join(page.split())
    first = rows_of(DAY)
    assert len(first) > 50

    async with Client(address) as client:
        again = await client.pipelines.submit_spec(spec_in(night))
        done = await client.pipelines.wait_for(again.id, "60s")
        assert done.state is State.SUCCEEDED
        assert {name: job.state.value for name, job in done.jobs.items()} == {
            "extract": "succeeded",
            "check": "succeeded",
            "load": "succeeded",
            "report": "succeeded",
            "alert": "skipped",
        }
        assert rows_of(DAY) == first
        report = (await client.get(done.jobs["report"].id)).result
        assert (report["orders"], report["refused"]) == (len(first), 3)
        assert report == (await client.get(f"{own}~report")).result


async def test_a_night_that_failed_alarms_and_is_mended_by_a_redrive(
    night: Path, address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = f"nightly-{uuid.uuid4().hex[:8]}"
    with monkeypatch.context() as patch:
        patch.setattr(nightly, "_MOST_BAD", 0.0)
        assert await duetime("submit", str(night), "--id", own, "--wait") == 1
        told = " ".join(capsys.readouterr().out.split())
        assert "check failed nightly.check extract" in told
        assert "Rejected: 3 of" in told
        assert "alert succeeded" in told
        assert rows_of(DAY) == []

    assert await duetime("watch", own) == 1
    assert "failed" in capsys.readouterr().out
    assert await duetime("graph", own) == 0
    assert "classDef failed" in capsys.readouterr().out
    assert await duetime("retry", own, "--wait", "-o", "json") == 0
    mended = json.loads(capsys.readouterr().out)
    assert mended["counts"] == {"succeeded": 4, "skipped": 1}
    assert len(rows_of(DAY)) > 50

    async with Client(address) as client:
        with pytest.raises(errors.WrongState) as refused:
            await client.pipelines.retry(own)
        assert refused.value.pipeline is not None
        assert refused.value.pipeline.state is State.SUCCEEDED
        with pytest.raises(errors.WrongState) as part:
            await client.retry(f"{own}~load")
        assert part.value.problem.member("pipeline_id") == own
    assert await duetime("cancel", own) == 4
    assert f"duetime pipelines get {own}" in capsys.readouterr().err
    assert await duetime("get", "nobody-has-this") == 3


async def test_lists_and_followers_from_python(night: Path, address: str) -> None:
    async with Client(address) as client:
        made = await client.pipelines.submit(spec_in(night)["jobs"], deadline="10m")
        events = [event async for event in client.pipelines.events(made.id)]
        assert events[-1].is_last
        assert events[-1].pipeline.state is State.SUCCEEDED
        assert (await client.pipelines.graph(made.id, "svg")).startswith("<svg ")

        async def listed() -> bool:
            return any([each.id == made.id async for each in client.pipelines.list(state="succeeded")])

        await eventually(listed)
