"""`make run` as its user sees it: real server, processes and signals; stand-ins for worker and API."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from temporalio.client import Client

from dev import NIGHTLY, welcome
from duetime.engine import EmbeddedEngine
from duetime.engine.ports import free_port
from duetime.engine.probes import is_polled
from tests.engine.programs import (
    ROOT,
    alive,
    all_gone,
    descendants,
    environment,
    eventually,
    finish,
    read_until,
    start_python,
)

SERVICE = str(ROOT / "tests/engine/standins/service.py")


class Service:
    """A place to run the service in: a directory, and ports."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.api = free_port()
        self.grpc = free_port(self.api)
        self.ui = free_port(self.api, self.grpc)

    @contextlib.asynccontextmanager
    async def process(
        self, *faults: str, program: tuple[str, ...] = (SERVICE,), **settings: str
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        env = environment(
            DUETIME_API_PORT=str(self.api),
            DUETIME_TEMPORAL_PORT=str(self.grpc),
            DUETIME_UI_PORT=str(self.ui),
            **settings,
        )
        process = await start_python(*program, *faults, cwd=self.directory, env=env)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


async def test_it_comes_up_says_where_and_leaves_nothing(service: Service) -> None:
    async with service.process() as process:
        seen = await read_until(process, "Ctrl-C stops everything. Jobs are kept in .duetime.")
        assert f"http://127.0.0.1:{service.api}/docs" in seen
        assert f"http://127.0.0.1:{service.ui}" in seen
        assert f"127.0.0.1:{service.grpc}" in seen
        assert f"curl -s http://127.0.0.1:{service.api}/v1/jobs " in seen
        assert "worker   | handlers: examples.handlers" in seen
        assert "\033" not in seen, "colours are for terminals"
        children = descendants(process.pid)
        assert len(children) == 3

        process.send_signal(signal.SIGINT)
        code, rest = await finish(process)
        assert code == 0
        assert rest.index("api says goodbye") < rest.index("worker says goodbye"), "in this order"
        assert not alive(children)


async def test_ctrl_c_in_a_terminal_reaches_the_parts_in_order(service: Service) -> None:
    """A terminal sends SIGINT to its whole foreground group: the server must not end before the worker."""
    in_terminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    async with service.process(program=("-c", in_terminal, sys.executable, SERVICE)) as process:
        seen = await read_until(process, "Ctrl-C stops everything.")
        assert "\033[32mworker   |\033[0m handlers:" in seen, "in colour"
        children = descendants(process.pid)
        assert process.stdin is not None
        process.stdin.write(b"\x03")
        code, rest = await finish(process)
        assert code == 0
        assert rest.index("api says goodbye") < rest.index("worker says goodbye")
        assert not alive(children)


async def test_the_next_run_finds_the_jobs_of_the_last(service: Service) -> None:
    async with service.process() as process:
        await read_until(process, "Duetime is ready")
        client = await Client.connect(f"127.0.0.1:{service.grpc}")
        job = await client.start_workflow("Job", id="kept", task_queue="duetime")
        assert await job.result() == "done"
        process.terminate()
        assert (await finish(process))[0] == 0
    async with service.process() as process:
        await read_until(process, "Duetime is ready")
        client = await Client.connect(f"127.0.0.1:{service.grpc}")
        assert await client.get_workflow_handle("kept").result() == "done"


async def test_a_second_one_on_the_same_data_is_refused(service: Service, tmp_path: Path) -> None:
    async with service.process() as process:
        await read_until(process, "Duetime is ready")
        async with Service(tmp_path).process() as second:
            code, seen = await finish(second)
        assert code == 1
        assert f"in use by another engine (pid {process.pid}" in seen
        assert len(alive(descendants(process.pid))) == 3, "the first goes on"


@pytest.mark.parametrize("which", ["api", "grpc", "ui"])
async def test_a_taken_port_is_one_clear_line(service: Service, which: str) -> None:
    name = {"api": "API", "grpc": "TEMPORAL", "ui": "UI"}[which]
    port = getattr(service, which)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        async with service.process() as process:
            code, seen = await finish(process)
    assert code == 1
    (line,) = [line for line in seen.splitlines() if line.startswith("port ")]
    assert line.startswith(f"port {port} for the ") and line.endswith(f" DUETIME_{name}_PORT to another")
    assert "Traceback" not in seen


async def test_a_missing_binary_is_one_clear_line(service: Service) -> None:
    async with service.process(DUETIME_TEMPORAL_BIN="/nowhere/temporal") as process:
        code, seen = await finish(process)
    assert code == 1
    assert "/nowhere/temporal is not a program" in seen and "pip install" in seen
    assert "Traceback" not in seen


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("worker-crash", "worker ended (exit code 3); its last lines:\n    cannot go on"),
        ("api-crash", "api ended (exit code 4); its last lines:\n    cannot bind"),
    ],
)
async def test_a_part_that_crashes_ends_all(service: Service, fault: str, told: str) -> None:
    async with service.process(fault) as process:
        code, seen = await finish(process)
    assert code == 1
    assert told in seen
    assert "Duetime is ready" not in seen


@pytest.mark.parametrize(("name", "program"), [("worker", "worker.py"), ("temporal", "start-dev")])
async def test_a_part_that_dies_later_ends_all_too(service: Service, name: str, program: str) -> None:
    async with service.process() as process:
        await read_until(process, "Duetime is ready")
        children = descendants(process.pid)
        next(child for child in children if program in " ".join(child.cmdline())).kill()
        code, seen = await finish(process)
    assert code == 1
    assert f"{name} ended (signal SIGKILL)" in seen
    assert "api says goodbye" in seen
    assert not alive(children)


async def test_again_hurries(service: Service) -> None:
    """A worker that will not go holds the stop for its whole grace, unless asked again."""
    async with service.process("worker-stuck") as process:
        await read_until(process, "Duetime is ready")
        children = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        await read_until(process, "api says goodbye")
        await eventually(lambda: len(alive(children)) == 2)
        process.send_signal(signal.SIGINT)
        assert (await finish(process))[0] == 0
        assert not alive(children)


async def test_a_signal_while_it_comes_up_leaves_nothing(service: Service) -> None:
    async with service.process() as process:
        await eventually(lambda: descendants(process.pid))
        children = descendants(process.pid)
        process.terminate()
        assert (await finish(process))[0] == 0
        assert not alive(children)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends children with their parent")
async def test_kill_9_leaves_no_orphan(service: Service) -> None:
    async with service.process() as process:
        await read_until(process, "Duetime is ready")
        children = descendants(process.pid)
        process.kill()
        await process.wait()
        await all_gone(children)


async def test_with_a_server_of_ones_own(engine: EmbeddedEngine, service: Service) -> None:
    """It gets a worker and an API instance, is not stopped, and no engine of ours runs."""
    async with service.process(DUETIME_TEMPORAL_ADDRESS=engine.address) as process:
        seen = await read_until(process, "Ctrl-C stops everything.")
        assert "Web UI" not in seen
        assert len(descendants(process.pid)) == 2
        process.terminate()
        assert (await finish(process))[0] == 0
    assert psutil.pid_exists(engine.pid)
    assert not (service.directory / ".duetime").exists()


async def test_a_server_that_is_not_there_is_told(service: Service) -> None:
    async with service.process(DUETIME_TEMPORAL_ADDRESS=f"127.0.0.1:{service.grpc}") as process:
        code, seen = await finish(process)
    assert code == 1
    assert f"no Temporal server answers well at DUETIME_TEMPORAL_ADDRESS=127.0.0.1:{service.grpc}" in seen
    assert "Traceback" not in seen


@pytest.mark.parametrize(
    ("now", "before", "polled"),
    [
        ({}, {}, False),
        ({"a": 5}, {}, True),
        ({"a": 5}, {"a": 5}, False),
        ({"a": 6}, {"a": 5}, True),
        ({"a": 5, "b": 1}, {"a": 5}, True),
    ],
)
def test_only_a_poll_after_the_start_counts(
    now: dict[str, int], before: dict[str, int], polled: bool
) -> None:
    assert is_polled(now, before) is polled


def test_with_keys_the_calls_to_try_have_one() -> None:
    open_to_all = welcome("http://127.0.0.1:8000", "127.0.0.1:7233", None, None)
    assert "Authorization" not in open_to_all
    keyed = welcome("http://127.0.0.1:8000", "127.0.0.1:7233", None, None, keyed=True)
    calls = [line for line in keyed.splitlines() if line.lstrip().startswith("curl")]
    assert len(calls) == 2
    assert all('-H "Authorization: Bearer $DUETIME_API_KEY"' in call for call in calls)
    assert "python -m api.keys" in keyed


def test_the_nightly_pipeline_is_offered_where_its_handlers_run() -> None:
    without = welcome("http://127.0.0.1:8000", "127.0.0.1:7233", None, None)
    assert NIGHTLY not in without
    offered = welcome("http://127.0.0.1:8000", "127.0.0.1:7233", None, None, nightly=True)
    assert f"-d @{NIGHTLY}" in offered
    assert (ROOT / NIGHTLY).is_file()
