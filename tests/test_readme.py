"""The README is run as it stands: every block that a newcomer copies does what the README says.

Nothing of it is repeated here: blocks are taken from the file, and what they print is held to the blocks that show it.
"""

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from api.app import create_app
from duetime.engine import EmbeddedEngine
from duetime.worker import Worker
from tests.api import conftest as api
from tests.support.markdown import Block, sections
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
PYTHON = Path(sys.executable)
SECTIONS = dict(sections((ROOT / "README.md").read_text()))
#: Languages of blocks that are run, and of those that show what the one before them printed.
RUN, SHOWN = {"sh", "python"}, {"json", "text"}
TITLES = [title for title, blocks in SECTIONS.items() if any(block.language in RUN for block in blocks)]


def agrees(shown: Any, real: Any) -> bool:
    """Whether all that is shown is so."""
    if isinstance(shown, dict):
        return isinstance(real, dict) and all(agrees(item, real.get(name)) for name, item in shown.items())
    return bool(shown == real)


def _commands(directory: Path) -> Path:
    """A directory with the command `duetime` as it is in this checkout, whether or not it is installed."""
    script = directory / "bin/duetime"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nexec '{PYTHON}' -c 'from duetime.cli import main; main()' \"$@\"\n")
    script.chmod(0o755)
    return script.parent


class Newcomer:
    """Copies one block after the other into a terminal, in a directory of their own."""

    def __init__(self, directory: Path, api_url: str, temporal: str) -> None:
        self._directory = directory
        self._here = {"http://127.0.0.1:8000": api_url, "127.0.0.1:7233": temporal}
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DUETIME_", "TEMPORAL_"))
        }
        self._environment = clean | {
            "PATH": os.pathsep.join([str(_commands(directory)), str(PYTHON.parent), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            # Where `make run` of the README would have put them by default.
            "DUETIME_URL": api_url,
            "DUETIME_TEMPORAL_ADDRESS": temporal,
            "TEMPORAL_ADDRESS": temporal,
        }
        self._running: list[asyncio.subprocess.Process] = []
        self.printed = ""

    async def copy(self, block: Block) -> None:
        text = block.text
        for there, here in self._here.items():
            text = text.replace(there, here)
        if named := re.search(r"`(\w+\.py)`", block.before) if block.language == "python" else None:
            (self._directory / named[1]).write_text(text)
        elif block.language == "python":
            (self._directory / "block.py").write_text(text)
            self.printed = await self._call("python", "block.py")
        elif text.startswith("duetime worker"):
            await self._keep_running(text)
        elif block.language == "sh":
            for command in text.strip().split("\n\n"):
                self.printed = await self._call("bash", "-euc", command)
        elif block.language == "json":
            assert agrees(json.loads(text), json.loads(self.printed)), self.printed
        elif block.language == "text":
            assert self.printed == text

    async def _call(self, *command: str) -> str:
        process = await self._start(*command)
        async with asyncio.timeout(PATIENCE):
            said, complaints = await process.communicate()
        assert process.returncode == 0, (command, said.decode(), complaints.decode())
        return said.decode()

    async def _keep_running(self, command: str) -> None:
        process = await self._start("bash", "-euc", f"exec {command}")
        self._running.append(process)
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while b"serving" not in (line := await process.stderr.readline()):
                assert line, await process.wait()

    async def _start(self, *command: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *command, cwd=self._directory, env=self._environment, stdout=pipe, stderr=pipe
        )

    async def leave(self) -> None:
        for process in self._running:
            process.terminate()
            await asyncio.wait_for(process.communicate(), PATIENCE)


@pytest.fixture
async def newcomer(
    engine: EmbeddedEngine, client: Client, orchestration: None, tmp_path: Path
) -> AsyncIterator[Newcomer]:
    """Somebody before what `make run` starts: an API, and a worker with the examples on the default queue."""
    if shutil.which("curl") is None and "CI" not in os.environ:
        pytest.skip("the README calls curl, which is not here")
    app = create_app(api.settings().model_copy(update={"data_dir": tmp_path / "data"}), client)
    async with Worker(client, ["examples.handlers"]), api.serving(app) as url:
        found = Newcomer(tmp_path, url, engine.address)
        try:
            yield found
        finally:
            await found.leave()


@pytest.mark.parametrize("title", TITLES)
async def test_what_newcomers_copy_does_what_they_are_told(newcomer: Newcomer, title: str) -> None:
    for block in SECTIONS[title]:
        await newcomer.copy(block)
    assert newcomer.printed, "something was to be seen"


def test_every_way_in_is_there() -> None:
    """One example of each: a job, a rule, a pipeline; the client, a handler, the command; Temporal's CLI and SDK."""
    code = "\n".join(block.text for title in TITLES for block in SECTIONS[title] if block.language in RUN)
    for way in (
        "curl -s",
        "/v1/schedules/",
        "/v1/pipelines",
        "SyncClient",
        "@handler(",
        "duetime submit",
        "temporal workflow",
        "from temporalio",
    ):
        assert way in code, way


def test_blocks_are_of_kinds_that_are_looked_at() -> None:
    for title, blocks in SECTIONS.items():
        wanted = RUN | SHOWN if title else {"", "mermaid"}
        assert {block.language for block in blocks} <= wanted, title


def test_the_two_commands_exist_and_the_picture_is_there() -> None:
    commands, picture = SECTIONS[""]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^make (\w+)", commands.text, re.MULTILINE) == ["run", "test"]
    assert {"run", "test"} <= set(targets)
    assert picture.language == "mermaid"


def test_it_is_a_door_and_no_wall() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 170
