"""The client's schedules and the command `duetime schedules`, over a real HTTP server."""

import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from fastapi import FastAPI

from duetime import Client, SyncClient
from duetime.cli.exits import Exit
from duetime.cli.main import app, run
from duetime.client.schedules import Schedules
from duetime.client.sync_schedules import SyncSchedules
from duetime.contracts.rule import RuleFields
from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_view import OccurrenceState, ScheduleState
from duetime.errors import ApiError, Conflict, InvalidField, NotFound
from duetime.testing import FakeDuetime
from tests.api.conftest import serving
from tests.schedules.conftest import Scheduler
from tests.support.waiting import eventually

Cli = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture(scope="session")
async def address(schedule_app: FastAPI, http: httpx2.AsyncClient) -> AsyncIterator[str]:
    async with serving(schedule_app) as address:
        yield address


@pytest.fixture
async def client_of_api(address: str) -> AsyncIterator[Client]:
    async with Client(address) as client:
        yield client


@pytest.fixture
def cli(address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("DUETIME_URL", address)
    for name in ("DUETIME_API_KEY", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    async def call(*arguments: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(run, ["schedules", *arguments])
        said = capsys.readouterr()
        return code, re.sub(r"[ \t]+", " ", said.out), said.err

    return call


async def test_a_schedule_is_kept_and_operated(schedule: Scheduler, client_of_api: Client) -> None:
    schedules = client_of_api.schedules
    spec = ScheduleSpec.model_validate(schedule.spec(cron="0 2 * * *", timezone="Europe/Paris"))
    made = await schedules.put(schedule.id, spec, new=True)
    assert (made.created, made.revision, made.state) == (True, 1, ScheduleState.ACTIVE)
    with pytest.raises(Conflict):
        await schedules.put(schedule.id, spec, new=True)
    again = await schedules.put(
        schedule.id, schedule.spec(cron="0 2 * * *", jitter=timedelta(minutes=2)), revision=1
    )
    assert (again.created, again.revision, again.spec["jitter"]) == (False, 2, "2m")
    assert (await schedules.get(schedule.id)).in_words == "At 02:00 every day, UTC"

    paused = await schedules.pause(schedule.id, "month end", by="alice")
    assert paused.paused is not None
    assert (paused.state, paused.paused.by) == (ScheduleState.PAUSED, "alice")
    assert (await schedules.resume(schedule.id)).state is ScheduleState.ACTIVE

    following = again.next[1].utc
    assert following not in [fire.utc for fire in (await schedules.skip(schedule.id, following)).next]
    rows = [row async for row in schedules.occurrences(schedule.id, start=datetime.now(UTC), end=following)]
    assert [row.state for row in rows] == [OccurrenceState.UPCOMING, OccurrenceState.EXCLUDED]

    day = datetime.now(UTC) - timedelta(days=1)
    dry = await schedules.backfill(schedule.id, day - timedelta(days=3), day, dry_run=True)
    assert (dry.count, dry.dry_run) == (3, True)
    assert (await schedules.trigger(schedule.id, overlap="allow")).job_id.startswith(f"{schedule.id}~")

    async def listed() -> bool:
        return schedule.id in [one.id async for one in schedules.list(queue=schedule.queue, page_size=1)]

    await eventually(listed)
    await schedules.delete(schedule.id)
    with pytest.raises(NotFound):
        await schedules.get(schedule.id)


async def test_a_set_is_applied_and_looked_ahead_on(schedule: Scheduler, client_of_api: Client) -> None:
    schedules = client_of_api.schedules
    named = {"id": schedule.id, **schedule.spec(every=timedelta(hours=1))}
    assert (await schedules.apply([named], dry_run=True)).created == [schedule.id]
    assert (await schedules.apply([named])).created == [schedule.id]
    done = await schedules.apply([{**named, "every": "2h"}])
    (changed,) = done.changed
    (change,) = changed.changes
    assert (change.pointer, change.before, change.after) == ("/every", "1h", "2h")

    async def seen() -> bool:
        return (await schedules.forecast(3)).schedules > 0

    await eventually(seen)


async def test_a_rule_is_previewed_in_every_shape(client_of_api: Client) -> None:
    start = datetime(2027, 1, 1, tzinfo=UTC)
    rule = {"cron": "H 2 * * *", "timezone": "UTC", "every": None}
    by_mapping = await client_of_api.schedules.preview(rule, schedule_id="nightly", start=start, n=2)
    model = RuleFields.model_validate({"cron": "H 2 * * *", "timezone": "UTC"})
    by_model = await client_of_api.schedules.preview(model, schedule_id="nightly", start=start, n=2)
    assert by_mapping == by_model
    assert len(by_model.fires) == 2
    with pytest.raises(InvalidField) as refused:
        await client_of_api.schedules.preview({"cron": "0 25 * * *"})
    (fault,) = refused.value.errors
    assert (fault.pointer, fault.column) == ("/cron", 3)


async def test_the_client_without_asyncio_is_the_same(address: str) -> None:
    def call() -> None:
        with SyncClient(address) as client:
            seen = client.schedules.preview({"cron": "0 2 * * *"}, n=1)
            assert seen.in_words == "At 02:00 every day, UTC"
            assert isinstance(list(client.schedules.list(queue="of-nobody")), list)
            with pytest.raises(NotFound):
                list(client.schedules.occurrences("not-there"))

    await asyncio.to_thread(call)


async def test_the_fake_says_that_it_keeps_no_schedules() -> None:
    async with FakeDuetime().client() as client:
        with pytest.raises(ApiError, match="keeps no schedules") as refused:
            await client.schedules.get("nightly")
    assert refused.value.status == 501


async def test_the_command_previews(cli: Cli) -> None:
    code, out, err = await cli(
        "preview", "30 1 * * *", "-z", "America/New_York", "--exclude", "2027-11-08", "-n", "2",
        "--from", "2027-11-07T00:00:00Z",
    )  # fmt: skip
    assert (code, err) == (Exit.OK, "")
    assert [line.strip() for line in out.splitlines()] == [
        "At 01:30 every day, America/New_York time, except on 2027-11-08",
        "UTC LOCAL",
        "2027-11-07T05:30:00Z 2027-11-07T01:30:00-04:00 dst_repeat",
        "2027-11-08T06:30:00Z 2027-11-08T01:30:00-05:00 excluded",
        "2027-11-09T06:30:00Z 2027-11-09T01:30:00-05:00",
    ]
    code, out, err = await cli("preview", "0 25 * * *")
    assert code == Exit.USAGE
    assert "hour: 25 is not in 0-23 (column 3)" in err
    code, _, err = await cli("preview", "*/90 * * * *", "-n", "1")
    assert (code, "warning: minute: '*/90'" in err) == (Exit.OK, True)
    code, out, _ = await cli("preview", "--every", "90m", "--offset", "5m", "-n", "1", "-o", "json")
    assert json.loads(out)["in_words"].startswith("Every 1 hour and 30 minutes")


async def test_the_command_keeps_and_operates(schedule: Scheduler, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "schedules.json"

    def write(value: Any) -> str:
        file.write_text(json.dumps(value))
        return str(file)

    code, out, _ = await cli("put", schedule.id, write(schedule.spec(cron="0 2 * * *")), "--new")
    assert code == Exit.OK
    assert out.startswith(f"{schedule.id} active\n")
    assert "when At 02:00 every day, UTC" in out
    assert (await cli("put", schedule.id, str(file), "--new"))[0] == Exit.CONFLICT

    named = {"id": schedule.id, **schedule.spec(cron="0 3 * * *")}
    code, out, _ = await cli("apply", write([named]), "--dry-run")
    assert (code, [line.strip() for line in out.splitlines()]) == (
        Exit.OK,
        [f"~ {schedule.id}", '/cron: "0 2 * * *" -> "0 3 * * *"', "would be done: 1 changed"],
    )
    assert (await cli("apply", write({"schedules": [named]})))[1].endswith("1 changed\n")
    code, out, _ = await cli("apply", str(file), "-o", "json")
    assert (code, json.loads(out)["unchanged"]) == (Exit.OK, [schedule.id])
    crowded = {**named, "cron": "* 0-59 0-6 * * *", "timezone": "America/New_York"}
    code, out, _ = await cli("apply", write([crowded]))
    assert (code, out.startswith(f"! {schedule.id}: ")) == (Exit.JOB_FAILED, True)

    code, out, _ = await cli("pause", schedule.id, "--reason", "month end", "--by", "alice")
    assert (code, "paused by alice" in out, "month end" in out) == (Exit.OK, True, True)
    assert (await cli("resume", schedule.id))[0] == Exit.OK
    code, out, _ = await cli("get", schedule.id, "-o", "json")
    following = json.loads(out)["next"][0]["utc"]
    assert (await cli("skip", schedule.id, following, "--reason", "holiday"))[0] == Exit.OK
    code, out, _ = await cli("occurrences", schedule.id, "--to", following)
    assert (code, "excluded" in out.splitlines()[-1]) == (Exit.OK, True)
    day = datetime.now(UTC) - timedelta(days=1)
    code, out, _ = await cli(
        "backfill",
        schedule.id,
        "--from",
        (day - timedelta(days=2)).isoformat(),
        "--to",
        day.isoformat(),
        "--dry-run",
    )
    assert (code, out.splitlines()[0]) == (Exit.OK, "would run: 2; left alone: 0")
    code, out, _ = await cli("trigger", schedule.id, "--overlap", "allow")
    assert (code, out.split(":")[0]) == (Exit.OK, "started")

    async def listed() -> bool:
        return f"{schedule.id} active" in (await cli("list", "-q", schedule.queue))[1]

    await eventually(listed)
    code, out, _ = await cli("forecast", "--hours", "24")
    assert (code, "starts of" in out.splitlines()[0]) == (Exit.OK, True)
    assert (await cli("delete", schedule.id))[0] == Exit.OK
    assert (await cli("get", schedule.id))[0] == Exit.NOT_FOUND


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "not JSON"), ('{"a": 1}', "must be a JSON list"), ("[1]", "must be a JSON list")],
)
async def test_a_file_that_is_no_list_of_schedules_is_refused(
    cli: Cli, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "bad.json").write_text(text)
    code, _, err = await cli("apply", str(tmp_path / "bad.json"))
    assert (code, said in err) == (Exit.USAGE, True)
    assert (await cli("apply", str(tmp_path / "missing.json")))[0] == Exit.USAGE


def test_every_method_is_in_the_guide_and_has_its_twin() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
    told = set(re.findall(r"^\| `schedules\.(\w+)\(", guide, re.MULTILINE))
    for face in (Schedules, SyncSchedules):
        assert {name for name, _ in inspect.getmembers(face, inspect.isfunction) if name[0] != "_"} == told


def test_every_subcommand_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    (row,) = [line for line in guide.splitlines() if line.startswith("| `schedules` |")]
    group: Any = typer.main.get_command(app)
    commands = set(group.commands["schedules"].commands)
    assert {text.split()[0] for text in re.findall(r"`([^`]+)`", row)[1:]} == commands
