"""Commands on many jobs and on the service, against the real API."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Iterator

import pytest
from temporalio.client import Client as TemporalClient

from duetime import Reject, SyncClient, handler
from duetime.cli.context import Connection
from duetime.cli.exits import Exit
from duetime.cli.main import run
from tests.cli.conftest import Said
from tests.support.waiting import eventually
from tests.support.workers import serving

Cli = Callable[..., Awaitable[Said]]


class Fault:
    """What the handler below fails of."""

    mended = False


@handler("cli.fails")
async def fails(payload: dict[str, object]) -> str:
    if not Fault.mended:
        raise Reject("not mended")
    return "done"


@pytest.fixture
def real(api_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """`await real("queues", "list")`, in a thread: the API runs in this one."""
    client = SyncClient(api_url)
    monkeypatch.setattr(Connection, "client", lambda _: client)
    Fault.mended = False

    async def call(*arguments: str) -> Said:
        capsys.readouterr()
        code = await asyncio.to_thread(run, arguments)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    yield call
    client.close()


async def failed(real: Cli, queue: str, count: int) -> None:
    for _ in range(count):
        assert (await real("submit", "cli.fails", "-q", queue)).code == Exit.OK

    async def there() -> bool:
        said = await real("count", "-q", queue, "-s", "failed", "-o", "json")
        return bool(said.json["total"] == count)

    await eventually(there)


async def test_many_are_looked_at_and_then_run(real: Cli, queue: str, client: TemporalClient) -> None:
    async with serving(client, queue, fails):
        await failed(real, queue, 3)
        looked = await real("retry", "--failed", "-q", queue, "--dry-run")
        assert looked.code == Exit.OK, looked.err
        assert looked.lines[0].endswith("frozen") and "retry 3 jobs with state=failed" in looked.lines[1]
        assert any(line.startswith("3 Rejected: not mended (") for line in looked.lines)
        operation_id = looked.lines[0].split()[0]
        assert looked.lines[-1] == f"carry it out: duetime operations run {operation_id}"
        halted = await real("operations", "run", operation_id, "--canary", "1", "--wait", "-o", "json")
        assert (halted.code, halted.json["state"]) == (Exit.JOB_FAILED, "halted")
        assert halted.json["counts"]["left"] == 2
        Fault.mended = True
        done = await real("retry", "-k", "cli.fails", "-q", queue, "--rate", "100", "--wait", "-o", "json")
        assert (done.code, done.json["counts"]["done"]) == (Exit.OK, 3)
        listed = await real("operations", "list", "-n", "100", "-o", "json")
        assert {operation_id, done.json["id"]} <= {each["id"] for each in listed.json["operations"]}
        again = await real("operations", "run", operation_id)
        assert again.code == Exit.CONFLICT and "halted" in again.err


async def test_many_are_cancelled_and_a_dry_run_is_stopped(real: Cli, queue: str) -> None:
    for _ in range(2):
        await real("submit", "cli.fails", "-q", queue, "-d", "1h")

    async def there() -> bool:
        return bool((await real("count", "-q", queue, "-o", "json")).json["total"] == 2)

    await eventually(there)
    looked = await real("cancel", "--queue", queue, "--all", "--dry-run", "-o", "json")
    assert (looked.json["state"], looked.json["total"]) == ("frozen", 2)
    stopped = await real("operations", "stop", looked.json["id"], "--reason", "changed my mind", "-o", "json")
    assert stopped.code == Exit.OK
    over = await real("operations", "wait", looked.json["id"])
    assert over.code == Exit.JOB_CANCELLED and "changed my mind" in over.out
    done = await real("cancel", "--queue", queue, "--wait", "-o", "json")
    assert (done.code, done.json["counts"]["done"]) == (Exit.OK, 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["retry"], "ID: give an id, or say which jobs"),
        (["cancel"], "ID: give an id, or say which jobs"),
        (["retry", "j1", "--failed"], "not both"),
        (["retry", "j1", "--dry-run"], "not both"),
        (["retry", "--failed", "--run-id", "x"], "--run-id: is for one job"),
        (["cancel", "--state", "failed"], "--state: failed: only open jobs"),
        (["retry", "--failed", "--rate", "0"], "--rate: "),
        (["queues", "rate", "q", "fast", "--reason", "x"], "is no number, nor none"),
        (["queues", "rate", "q", "0", "--reason", "x"], "to hand out nothing, pause the queue"),
        (["queues", "concurrency", "q", "0", "--reason", "x"], "is no number from 1, nor none"),
        (["queues", "concurrency", "q", "3"], "--reason"),
        (["operations", "get", "nothing"], "no operation has the id 'nothing'"),
    ],
)
async def test_what_cannot_be_is_said_by_its_option(real: Cli, arguments: list[str], says: str) -> None:
    said = await real(*arguments)
    assert said.code in (Exit.USAGE, Exit.NOT_FOUND) and says in said.err, said
    assert said.out == ""


async def test_a_queue_is_paused_resumed_and_bounded(real: Cli, queue: str) -> None:
    await real("submit", "cli.fails", "-q", queue, "--id", f"{queue}-1")
    paused = await real("queues", "pause", queue, "--reason", "the mail server moves", "--by", "alice")
    assert paused.code == Exit.OK and paused.lines[0] == f"{queue} paused"
    assert "the mail server moves (by alice" in paused.out
    why = await real("why", f"{queue}-1")
    assert "queue_paused: queue" in why.out and f"duetime queues resume {queue}" in why.out
    assert (await real("why", f"{queue}-1", "-o", "json")).json["state"] == "queued"
    resumed = await real("queues", "resume", queue, "-o", "json")
    assert resumed.json["pause"] is None
    limited = await real(
        "queues", "rate", queue, "2.5", "--reason", "the provider asked for it", "-o", "json"
    )
    assert limited.json["rate"]["per_second"] == 2.5
    assert "2.5 a second: the provider asked for it" in (await real("queues", "get", queue)).out
    free = await real("queues", "rate", queue, "none", "--reason", "it does not mind", "-o", "json")
    assert free.json["rate"] is None
    await real("queues", "concurrency", queue, "3", "--reason", "it takes no more", "--by", "alice")
    assert "3: it takes no more (by alice" in (await real("queues", "get", queue)).out
    me = await real("queues", "pause", queue, "--reason", "lunch", "-o", "json")
    assert me.json["pause"]["by"] == getpass.getuser()
    lifted = await real("queues", "concurrency", queue, "none", "-o", "json")
    assert lifted.json["concurrency"] is None

    async def listed() -> bool:
        return queue in (await real("queues", "list")).out

    await eventually(listed)
    backlog = await real("backlog", "--by", "queue", "-o", "json")
    assert queue in {group["name"] for group in backlog.json["groups"]}
    assert (await real("backlog")).lines[-1].startswith("total ")


async def test_the_doctor_ends_with_how_bad_it_is_and_says_each_fix(real: Cli, queue: str) -> None:
    await real("submit", "cli.fails", "-q", queue)

    async def found() -> Said | None:
        said = await real("doctor")
        return said if f"no worker polls queue `{queue}`" in said.out else None

    said = await eventually(found)
    assert said is not None and said.code == 2
    assert said.lines[0].startswith("ERROR ") and "fix: " in said.lines[1]
    told = await real("doctor", "-o", "json")
    assert told.json["exit_code"] == told.code == 2
