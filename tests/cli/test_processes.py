"""The command line as a process: exit codes, signals, pipes, terminals, and a real API."""

import asyncio
import json
import os
import pty
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client as TemporalClient

from duetime import Client, State
from duetime.contracts.queues import WorkerView
from tests.cli.conftest import Cli
from tests.client.flaky import Flaky, Reply, Silence
from tests.client.test_repeating import JOB
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from duetime.cli import main; main()")


def environment(**settings: str) -> dict[str, str]:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("DUETIME_", "NO_COLOR"))
    }
    return clean | {"PYTHONPATH": str(ROOT)} | settings


async def start(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
    settings = options.pop("settings", {})
    pipes = {"stdin": asyncio.subprocess.DEVNULL, "stdout": asyncio.subprocess.PIPE}
    return await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env=environment(**settings),
        **{**pipes, "stderr": asyncio.subprocess.PIPE, **options},
    )


async def call(*arguments: str, **options: Any) -> tuple[int, str, str]:
    process = await start(*arguments, **options)
    out, err = await process.communicate()
    return process.returncode or 0, (out or b"").decode(), (err or b"").decode()


async def told_by_heartbeat(http: Client, queue: str) -> WorkerView | None:
    workers = (await http.queue(queue)).workers
    return next((worker for worker in workers if worker.told_by == "heartbeat" and worker.busy), None)


async def test_a_job_goes_through_a_real_api(
    api_url: str,
    client: TemporalClient,
    queue: str,
    job_id: str,
    tmp_path: Path,
) -> None:
    worker = await start(
        *(
            "worker",
            "tests.cli.handlers",
            "--queues",
            queue,
            "--temporal",
            client.service_client.config.target_host,
        ),
        stdout=asyncio.subprocess.DEVNULL,
        settings={"DUETIME_LOG_FORMAT": "json"},
    )
    try:
        settings = {"DUETIME_URL": api_url}
        code, out, err = await call(
            *(
                "submit",
                "cli.double",
                "-p",
                '{"value": 21}',
                "--id",
                job_id,
                "-q",
                queue,
                "--wait",
                "-o",
                "json",
            ),
            settings=settings,
        )
        assert (code, json.loads(out)["result"]) == (0, 42), err
        code, out, _ = await call("watch", job_id, "-o", "json", "--url", api_url)
        assert (code, json.loads(out)["event"]) == (0, "done")
        code, out, _ = await call("get", job_id, settings=settings)
        assert code == 0
        assert re.search(r"attempt 1  succeeded after ", out)
        # A handler that runs when the worker is stopped finishes first.
        until = tmp_path / "until"
        payload = json.dumps({"until": str(until)})
        await call(
            "submit", "cli.slow", "-p", payload, "--id", f"{job_id}-slow", "-q", queue, settings=settings
        )
        async with Client(api_url) as http:
            await eventually(lambda: is_in(http, f"{job_id}-slow", State.RUNNING))
            # It tells that it lives, as a worker of the service does, and how busy it is.
            known = await eventually(lambda: told_by_heartbeat(http, queue))
            assert (known.slots, known.busy) == (20, 1)
            worker.send_signal(signal.SIGTERM)
            assert worker.stderr is not None
            await asyncio.wait_for(worker.stderr.readuntil(b"stopping: running handlers get 30s"), 60)
            until.touch()
            _, said = await worker.communicate()
            assert worker.returncode == 0, said.decode()
            _, *lines = said.decode().splitlines()  # the first was read to its middle
            assert all(json.loads(line)["level"] for line in lines)
            assert (await http.wait_for(f"{job_id}-slow", "30s")).state is State.SUCCEEDED
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()


async def is_in(http: Client, job_id: str, state: State) -> bool:
    return (await http.get(job_id)).state is state


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("worker", "json"), "MODULE: the module json has no @handler function"),
        (("worker", "tests.cli.handlers", "--grace", "soon"), "--grace: not a duration"),
        (("worker", "tests.cli.handlers", "--queues", ","), "--queues: name one at least"),
        (("worker", "tests.cli.handlers", "--log-level", "loud"), "--log-level: 'loud' is not"),
        (("worker", "tests.cli.handlers", "--temporal", "here"), "--temporal: 'here' is no HOST:PORT"),
        (("worker", "tests.cli.handlers", "--tls-cert", "x.pem"), "--tls-cert and --tls-key go together"),
        (("worker",), "MODULE"),
    ],
)
def test_a_worker_that_cannot_be_says_why(
    arguments: tuple[str, ...], says: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of this needs a process of its own."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name in [name for name in os.environ if name.startswith("DUETIME_")]:
        monkeypatch.delenv(name)
    said = cli(*arguments)
    assert (said.code, said.out) == (2, "")
    assert says in said.err


async def test_a_worker_without_its_module_is_a_process_that_ends() -> None:
    code, out, err = await call("worker", "no.such.module")
    assert (code, out) == (2, "")
    assert "MODULE: there is no module 'no'" in err


async def test_a_worker_without_a_server_waits_for_it_and_can_be_stopped() -> None:
    worker = await start("worker", "tests.cli.handlers", "--temporal", "127.0.0.1:9")
    assert worker.stderr is not None
    await asyncio.wait_for(worker.stderr.readuntil(b"does not answer"), 60)
    worker.send_signal(signal.SIGTERM)
    await worker.communicate()
    assert worker.returncode == 0


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (Reply(401, {"status": 401, "detail": "this needs a key"}), 6, "put a key into DUETIME_API_KEY"),
        (Reply(403, {"status": 403, "detail": "not yours"}), 6, "use a key that has this scope"),
        (Reply(503, {"status": 503, "detail": "away"}, {"Retry-After": "600"}), 5, "try again in 600 s"),
        (Reply(500, {"status": 500, "detail": "a fault of ours"}), 70, "a fault of ours"),
        (Reply(200, "<html>"), 70, "is this a Duetime API?"),
    ],
)
async def test_refusals_end_with_their_code_and_the_way_out(answer: Reply, code: int, says: str) -> None:
    async with Flaky([answer]).running() as flaky:
        ended, out, err = await call("get", "x", "--url", flaky.url)
    assert (ended, out) == (code, "")
    assert says in err
    assert "Traceback" not in err


async def test_a_key_comes_from_the_environment_or_a_file_and_is_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("dt_from_a_file\n")
    async with Flaky([Reply(200, JOB)]).running() as flaky:
        for arguments, settings in (
            (("-vv", "get", "x", "--api-key-file", str(file)), {}),
            (("-vv", "get", "x"), {"DUETIME_API_KEY": "dt_from_the_environment"}),
        ):
            code, out, err = await call(*arguments, settings={"DUETIME_URL": flaky.url, **settings})
            assert code == 0
            assert "dt_from" not in out + err
    keys = [seen.headers["authorization"] for seen in flaky.seen]
    assert keys == ["Bearer dt_from_a_file", "Bearer dt_from_the_environment"]
    code, _, err = await call("get", "x", "--api-key-file", "/nowhere")
    assert (code, "--api-key-file: /nowhere cannot be read" in err) == (2, True)


async def test_ctrl_c_ends_it_quietly() -> None:
    async with Flaky([Silence()]).running() as flaky:
        process = await start("wait", "x", "--url", flaky.url)
        await eventually(lambda: flaky.seen)
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


async def test_a_reader_that_goes_away_is_no_trouble() -> None:
    page = {
        "jobs": [{**JOB, "id": f"job-{n}", "tags": ["x" * 64] * 20} for n in range(200)],
        "next_cursor": None,
    }
    async with Flaky([Reply(200, page)]).running() as flaky:
        for output in ("table", "json"):
            ours, theirs = os.pipe()
            process = await start("list", "-n", "200", "-o", output, "--url", flaky.url, stdout=theirs)
            os.close(theirs)
            await asyncio.to_thread(os.read, ours, 1)
            os.close(ours)
            assert process.stderr is not None
            assert await process.stderr.read() == b""
            # A kernel may take all of it before it hears that nobody reads.
            assert await process.wait() in {0, 141}


async def test_a_terminal_gets_colours_and_a_list_that_fits() -> None:
    page = {"jobs": [{**JOB, "state": "failed"}], "next_cursor": None}
    async with Flaky([Reply(200, page)]).running() as flaky:
        ours, theirs = pty.openpty()
        settings = {"DUETIME_URL": flaky.url, "TERM": "xterm", "COLUMNS": "44"}
        process = await start("list", stdout=theirs, settings=settings)
        await process.wait()
        os.close(theirs)
        shown = os.read(ours, 65536).decode()
        os.close(ours)
    assert "\x1b[31mfailed" in shown
    assert "KIND" not in shown
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in shown.splitlines()) <= 44


async def test_help_shows_examples_and_exit_codes() -> None:
    code, out, _ = await call("--help")
    assert code == 0
    assert "duetime submit hello" in out
    assert "7 the wait was over" in out
    code, out, _ = await call()
    assert (code, "Usage: duetime" in out) == (2, True)
    for shell in ("bash", "zsh", "fish"):
        settings = {"_DUETIME_COMPLETE": f"complete_{shell}", "COMP_WORDS": "duetime ", "COMP_CWORD": "1"}
        settings |= {"_TYPER_COMPLETE_ARGS": "duetime ", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        code, out, _ = await call(settings=settings)
        assert "submit" in out
