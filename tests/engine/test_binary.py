from pathlib import Path

import pytest

from duetime.engine import BinaryNotFound
from duetime.engine.binary import EngineVersion, find_binary, parse_version, read_version
from duetime.engine.command import server_command, server_environment


def test_the_one_that_is_named_is_the_only_one_looked_at(tmp_path: Path) -> None:
    with pytest.raises(
        BinaryNotFound, match=r"nowhere .*pip install 'duetime\[server\]'.*DUETIME_TEMPORAL_ADDRESS"
    ):
        find_binary(tmp_path / "nowhere")
    with pytest.raises(BinaryNotFound, match="not a program"):
        find_binary(tmp_path)


def test_beside_this_python_then_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts, path = tmp_path / "scripts", tmp_path / "path"
    for directory in (scripts, path):
        directory.mkdir()
        (directory / "temporal").write_text("#!/bin/sh\n")
        (directory / "temporal").chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(scripts))
    monkeypatch.setenv("PATH", str(path))
    assert find_binary() == scripts / "temporal"
    (scripts / "temporal").unlink()
    assert find_binary() == path / "temporal"
    (path / "temporal").unlink()
    with pytest.raises(BinaryNotFound, match="was not found"):
        find_binary()


def test_a_program_that_is_not_temporal_is_told_apart(tmp_path: Path) -> None:
    impostor = tmp_path / "temporal"
    impostor.write_text("#!/bin/sh\necho hello\n")
    impostor.chmod(0o755)
    with pytest.raises(BinaryNotFound, match="not the Temporal CLI"):
        read_version(impostor)
    impostor.write_bytes(b"\x7fELF, but not for this machine")
    with pytest.raises(BinaryNotFound, match="does not run"):
        read_version(impostor)


def test_versions_are_read() -> None:
    answer = "temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)\n"
    assert parse_version(answer, Path("temporal")) == EngineVersion(cli="1.9.1", server="1.32.0")
    assert read_version(find_binary()).server


def test_the_command_says_what_we_rely_on() -> None:
    command = server_command(
        Path("/bin/temporal"),
        port=1,
        ui_port=2,
        database=Path("/data/temporal.db"),
        namespace="jobs",
        log_level="warn",
        dynamic_config={"matching.numTaskqueueReadPartitions": "4"},
    )
    line = " ".join(command)
    assert "--ip 127.0.0.1 --port 1 --ui-port 2" in line
    assert "--db-filename /data/temporal.db" in line
    assert "--sqlite-pragma journal_mode=WAL --sqlite-pragma synchronous=FULL" in line
    assert "--namespace jobs" in line
    assert "matching.enableFairness=true" in line
    assert "matching.numTaskqueueReadPartitions=4" in line and "ReadPartitions=1" not in line
    assert "--log-level" not in line


def test_the_server_gets_none_of_our_secrets() -> None:
    given = server_environment(
        {"DUETIME_LEDGER_URL": "secret", "TEMPORAL_ADDRESS": "x", "TMPDIR": "/scratch"}
    )
    assert given == {"TEMPORAL_VERSION_CHECK_DISABLED": "1", "TMPDIR": "/scratch"}
