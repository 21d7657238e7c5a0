"""The embedded engine with the real server, real processes and real signals."""

import asyncio
import contextlib
import signal
import socket
import sys
from pathlib import Path

import psutil
import pytest

from duetime.engine import (
    DataInUse,
    DataRefused,
    EmbeddedEngine,
    EngineConfig,
    EngineError,
    EngineFailed,
    PortTaken,
    ports,
    server,
)
from duetime.engine.namespace import WANTED
from duetime.engine.ports import free_port
from duetime.engine.server import RETENTION
from tests.engine.programs import (
    alive,
    all_gone,
    descendants,
    environment,
    eventually,
    read_until,
    start_python,
)
from tests.engine.test_namespace import registered, retention


async def test_it_is_ready_for_jobs_when_it_says_so(engine: EmbeddedEngine) -> None:
    client = await engine.client()
    assert await registered(client) == WANTED
    assert await retention(client) == RETENTION


async def test_every_socket_is_on_the_loopback() -> None:
    """The gRPC and HTTP frontends, the Web UI, the metrics, and the inner services."""
    async with EmbeddedEngine() as engine:
        await eventually(lambda: len(_listening(engine.pid)) >= 7)
        sockets = _listening(engine.pid)
        assert engine.address in sockets
        assert str(engine.ui_url).removeprefix("http://") in sockets
        assert {address.rpartition(":")[0] for address in sockets} == {"127.0.0.1"}


def _listening(pid: int) -> set[str]:
    connections = psutil.Process(pid).net_connections(kind="inet")
    return {f"{c.laddr.ip}:{c.laddr.port}" for c in connections if c.status == "LISTEN"}


async def test_a_stop_leaves_nothing_and_frees_everything(tmp_path: Path) -> None:
    engine = EmbeddedEngine(EngineConfig(data_dir=tmp_path / "data", ui_port=None))
    await engine.start()
    process = psutil.Process(engine.pid)
    with pytest.raises(DataInUse, match=f"server is pid {engine.pid}"):
        await EmbeddedEngine(engine.config).start()
    assert process.is_running(), "the one that was refused took nothing with it"
    await engine.stop()
    assert not process.is_running()
    host, _, port = engine.address.partition(":")
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((host, int(port)))
    await engine.stop()  # Twice is no error.


async def test_a_started_workflow_survives_kill_and_restart(tmp_path: Path) -> None:
    engine = EmbeddedEngine(EngineConfig(data_dir=tmp_path / "data", ui_port=None))
    await engine.start()
    address = engine.address
    try:
        client = await engine.client()
        started = await client.start_workflow("Job", id="kept", task_queue="nobody")
        await engine.kill()
        with pytest.raises(EngineError, match="not been started"):
            _ = engine.pid
        await engine.start()
        assert engine.address == address
        described = await client.get_workflow_handle("kept").describe()  # The same client: it found back.
        assert described.run_id == started.result_run_id
    finally:
        await engine.stop()


async def test_data_of_another_version_is_refused_and_untouched(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "temporal.db").write_bytes(b"theirs")
    (data / "engine.json").write_text('{"cli": "1.0.0", "server": "1.20.0", "state": "ready"}')
    with pytest.raises(DataRefused, match=r"1\.20\.0"):
        await EmbeddedEngine(EngineConfig(data_dir=data)).start()
    assert (data / "temporal.db").read_bytes() == b"theirs"


async def test_a_start_cut_off_is_begun_again(tmp_path: Path) -> None:
    """A server killed between the first table and the last would never come up again on that file."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "temporal.db").write_bytes(b"")
    (data / "engine.json").write_text('{"cli": "1.9.1", "server": "1.32.0", "state": "creating"}')
    async with EmbeddedEngine(EngineConfig(data_dir=data, ui_port=None)) as engine:
        assert await registered(await engine.client()) == WANTED


async def test_a_data_directory_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match=r"file cannot be used .*: set DUETIME_DATA_DIR"):
        await EmbeddedEngine(EngineConfig(data_dir=tmp_path / "file")).start()


@pytest.mark.parametrize("which", ["port", "ui_port"])
async def test_a_taken_port_is_named(which: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = EngineConfig(**{which: port})
        with pytest.raises(PortTaken, match=f"port {port} for the Temporal .*DUETIME_.*PORT"):
            await EmbeddedEngine(config).start()


async def test_a_port_that_is_snatched_costs_another_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was free when it was chosen, and taken when the server came to listen on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        snatched = taken.getsockname()[1]
        chosen = [snatched]
        monkeypatch.setattr(
            server, "free_port", lambda *besides: chosen.pop() if chosen else free_port(*besides)
        )
        async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
            assert engine.address != f"127.0.0.1:{snatched}"
            assert not chosen


def test_ports_that_are_chosen_together_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them is listened on yet, so that all look free."""
    picks = iter([0, 0, 0, 1, 0, 1, 2])
    monkeypatch.setattr(ports.secrets, "randbelow", lambda _: next(picks))
    monkeypatch.setattr(ports, "_bind", lambda *_: None)
    first = free_port()
    second = free_port(first)
    assert len({first, second, free_port(first, second)}) == 3


async def test_a_server_that_ends_at_its_start_is_quoted() -> None:
    config = EngineConfig(dynamic_config={"not a key": "{"}, ui_port=None)
    engine = EmbeddedEngine(config)
    with pytest.raises(EngineFailed, match=r"(?s)ended at its start .exit code 1.*invalid dynamic config"):
        await engine.start()
    with pytest.raises(EngineError, match="not been started"):
        _ = engine.pid


async def test_a_server_that_dies_is_noticed_and_can_be_started_again() -> None:
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        psutil.Process(engine.pid).kill()
        assert await engine.wait() == -signal.SIGKILL
        await engine.stop()
        await engine.start()


async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    before = set(psutil.Process().children(recursive=True))
    engine = EmbeddedEngine(EngineConfig(ui_port=None))
    starting = asyncio.create_task(engine.start())
    await eventually(lambda: engine._child is not None)
    starting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await starting
    assert not alive([child for child in psutil.Process().children(recursive=True) if child not in before])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends children with their parent")
async def test_kill_9_of_its_owner_leaves_no_orphan(tmp_path: Path) -> None:
    program = """
import asyncio
from pathlib import Path
from duetime.engine import EmbeddedEngine, EngineConfig
async def main():
    async with EmbeddedEngine(EngineConfig(data_dir=Path("data"), ui_port=None)):
        print("ready", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
    owner = await start_python("-c", program, cwd=tmp_path, env=environment())
    await read_until(owner, "ready")
    children = descendants(owner.pid)
    assert children
    owner.kill()
    await owner.wait()
    await all_gone(children)
    async with EmbeddedEngine(EngineConfig(data_dir=tmp_path / "data", ui_port=None)):
        pass  # And the data is free again.
