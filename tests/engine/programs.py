"""Run small Python programs as real processes, and look at what is left of them."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]

#: Long enough for a loaded machine; nothing waits for it when all is well.
PATIENCE = 60.0


def environment(**settings: str) -> dict[str, str]:
    """Ours without any settings of Duetime, so that a developer's own do not decide tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
    return {**clean, "PYTHONPATH": str(ROOT), **settings}


async def start_python(*arguments: str, cwd: Path, env: dict[str, str]) -> asyncio.subprocess.Process:
    """A Python program with pipes for its input and for its output, errors included."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=cwd,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def read_until(process: asyncio.subprocess.Process, *texts: str) -> str:
    """What the program writes, until it has written all of `texts`."""
    assert process.stdout is not None
    seen = ""
    async with asyncio.timeout(PATIENCE):
        while not all(text in seen for text in texts):
            line = await process.stdout.readline()
            assert line, f"ended (exit code {await process.wait()}) before {texts}:\n{seen}"
            seen += line.decode()
    return seen


async def finish(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Its exit code and the rest of its output."""
    async with asyncio.timeout(PATIENCE):
        rest, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, rest.decode()


def descendants(pid: int) -> list[psutil.Process]:
    """All processes under `pid` that are alive now."""
    return psutil.Process(pid).children(recursive=True)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; a zombie that nobody has collected does not."""
    return [process for process in processes if process.is_running() and process.status() != "zombie"]


async def all_gone(processes: list[psutil.Process]) -> None:
    """Wait until none of them runs; one that goes on fails the test, and is not left behind by it."""
    try:
        await eventually(lambda: not alive(processes))
    finally:
        for process in alive(processes):
            process.kill()


async def eventually(fact: Callable[[], object]) -> None:
    """Wait until `fact()` is true."""
    async with asyncio.timeout(PATIENCE):
        while not fact():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
