"""Nothing of a command is left when its job has ended, however the job ended and whatever the command did."""

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.command.kind import CommandKind
from activities.command.request import CommandRequest
from activities.command.verdict import CommandFailed
from tests.activities.support import FakeJob, eventually

ROOT = Path(__file__).resolve().parents[2]


class Marked:
    """A command whose processes can be told from all others by a variable in their environment."""

    def __init__(self, directory: Path) -> None:
        self.env = {"MARK": uuid.uuid4().hex, "STARTED": str(directory / "started")}
        # A job of its own: by it the worker finds what is left when a supervisor was killed.
        self.job = FakeJob(id=self.env["MARK"])
        self.started = Path(self.env["STARTED"])

    def processes(self) -> list[int]:
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and name != str(os.getpid()):
                with suppress(OSError):
                    if f"MARK={self.env['MARK']}".encode() in Path(f"/proc/{name}/environ").read_bytes():
                        found.append(int(name))
        return found


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    return Marked(tmp_path)


async def run(marked: Marked, grace: float = 0.3, **payload: Any) -> dict[str, Any]:
    kind = CommandKind(linger=timedelta(seconds=0.1), grace=timedelta(seconds=grace))
    return await kind.run(CommandRequest(env=marked.env, **payload), marked.job)


STUBBORN = {
    "a child in the background": 'sleep 1000 & touch "$STARTED"; sleep 1001; echo end',
    "deaf to SIGTERM": 'trap "" TERM; sleep 1000 & touch "$STARTED"; sleep 1001; sleep 1002',
    "a pipeline": 'touch "$STARTED"; sleep 1000 | cat',
    "deaf to SIGHUP": 'nohup sleep 1000 >/dev/null 2>&1 & touch "$STARTED"; wait',
    "another session": 'setsid sleep 1000 & touch "$STARTED"; wait',
    "forked twice": '(setsid sh -c "sleep 1000 & sleep 1001" & ); touch "$STARTED"; sleep 1002',
    "forked twice, not done": '(setsid sh -c "trap : TERM; sleep 1000; sleep 1001" &); touch "$STARTED"; '
    "sleep 1002",
    "stopped": 'touch "$STARTED"; kill -STOP $$',
    "fifty at once": 'for i in $(seq 50); do setsid sleep 1000 & done; touch "$STARTED"; wait',
    "forks when told to end": 'trap "setsid sleep 1000 & setsid sleep 1001 &" TERM; touch "$STARTED"; '
    "sleep 1002 & wait; wait",
    "floods": 'touch "$STARTED"; yes',
}


@pytest.mark.parametrize("shell", STUBBORN.values(), ids=STUBBORN.keys())
async def test_a_cancelled_command_is_gone_with_everything_it_started(shell: str, marked: Marked) -> None:
    task = asyncio.create_task(run(marked, shell=shell))
    await eventually(marked.started.exists)
    assert marked.processes()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert marked.processes() == []


@pytest.mark.parametrize("busy", ["while :; do sleep 0.01; done", "kill -STOP $$"])
async def test_it_is_asked_before_it_is_killed(busy: str, marked: Marked, tmp_path: Path) -> None:
    shell = f'trap "echo bye > {tmp_path}/bye; exit 0" TERM; touch "$STARTED"; {busy}'
    task = asyncio.create_task(run(marked, grace=60, shell=shell))
    await eventually(marked.started.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "bye").read_text() == "bye\n"


async def test_a_timeout_ends_it_too(marked: Marked) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await run(marked, shell='trap "" TERM; yes & yes')
    assert marked.processes() == []


@pytest.mark.parametrize(
    "shell",
    [
        "sleep 300 & echo hi",
        "nohup sleep 300 >/dev/null 2>&1 & echo hi",
        "(setsid sh -c 'sleep 300 & sleep 301' &); echo hi",
        "(trap '' TERM; sleep 300; sleep 301) & echo hi",
    ],
)
async def test_what_it_leaves_in_the_background_neither_holds_the_job_nor_outlives_it(
    shell: str, marked: Marked
) -> None:
    result = await run(marked, shell=shell)
    assert (result["exit_code"], result["stdout"]) == (0, "hi\n")
    assert marked.processes() == []


async def test_many_at_once_do_not_end_each_other(tmp_path: Path) -> None:
    commands = [Marked(tmp_path) for _ in range(8)]
    short = [run(one, shell=f"sleep 1000 & echo {number}") for number, one in enumerate(commands[:7])]
    long = asyncio.create_task(run(commands[7], shell='touch "$STARTED"; sleep 1000'))
    await eventually(commands[7].started.exists)
    assert [result["stdout"] for result in await asyncio.gather(*short)] == [
        f"{number}\n" for number in range(7)
    ]
    assert commands[7].processes()
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long


async def test_cancelled_twice_it_does_not_wait_but_still_ends_it(marked: Marked) -> None:
    task = asyncio.create_task(
        run(marked, grace=0.5, shell='trap "" TERM; touch "$STARTED"; sleep 1000; sleep 1001')
    )
    await eventually(marked.started.exists)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert marked.processes()
    await eventually(lambda: not marked.processes())


async def test_cancelled_while_it_begins_nothing_is_left(marked: Marked) -> None:
    for turns in range(4):
        task = asyncio.create_task(run(marked, shell='echo x >> "$STARTED"; sleep 1000'))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert marked.processes() == []


async def test_a_command_that_kills_its_supervisor_fails_and_is_gone(marked: Marked) -> None:
    with pytest.raises(CommandFailed, match="supervisor ended unexpectedly"):
        await run(marked, shell="sleep 1000 & setsid sleep 1001 & kill -9 $PPID; sleep 1002")
    assert marked.processes() == []


async def test_a_command_dies_with_its_supervisor_under_any_name(marked: Marked) -> None:
    shell = 'echo $$ > "$STARTED"; exec env -i /bin/sh -c "kill -9 \\$PPID; exec sleep 1000"'
    with pytest.raises(CommandFailed, match="supervisor ended unexpectedly"):
        await run(marked, shell=shell)
    pid = int(marked.started.read_text())
    await eventually(lambda: not Path(f"/proc/{pid}").exists())


WORKER = """
import asyncio, json, sys
from activities.command.kind import CommandKind
from activities.command.request import CommandRequest
from tests.activities.support import FakeJob
asyncio.run(CommandKind().run(CommandRequest(**json.loads(sys.argv[1])), FakeJob()))
"""


@asynccontextmanager
async def worker_with(marked: Marked, shell: str) -> AsyncIterator["subprocess.Popen[bytes]"]:
    request = CommandRequest(shell=shell, env=marked.env).model_dump_json(exclude_defaults=True)
    worker = subprocess.Popen(  # noqa: ASYNC220 - a test that must be able to kill it
        [sys.executable, "-c", WORKER, request], cwd=ROOT, stderr=subprocess.PIPE
    )
    try:
        await eventually(lambda: marked.started.exists() or worker.poll() is not None)
        yield worker
    finally:
        worker.kill()
        worker.communicate()


async def test_what_ends_soon_may_end_by_itself(marked: Marked, tmp_path: Path) -> None:
    kind = CommandKind(linger=timedelta(minutes=1))
    shell = f"(sleep 0.2; echo done > {tmp_path}/done) & echo hi"
    await kind.run(CommandRequest(shell=shell, env=marked.env), marked.job)
    assert (tmp_path / "done").read_text() == "done\n"


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda end: end.name)
async def test_a_worker_that_dies_takes_its_commands_along(marked: Marked, end: signal.Signals) -> None:
    shell = '(setsid sleep 1000 &); touch "$STARTED"; sleep 1001'
    async with worker_with(marked, shell) as worker:
        await eventually(lambda: len(marked.processes()) == 3)
        worker.send_signal(end)
        await eventually(lambda: not marked.processes())


def test_descendants_are_found_whatever_they_are_called(tmp_path: Path) -> None:
    from activities.command.family import descendants

    odd = tmp_path / ") R 1 ("
    odd.symlink_to("/bin/sleep")
    child = subprocess.Popen([odd, "1000"])
    try:
        assert child.pid in descendants(os.getpid())
    finally:
        child.kill()
        child.wait()
