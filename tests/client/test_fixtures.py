"""The fixtures that other projects use, in a pytest of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SUITE = """
import asyncio
import pytest
from duetime import Job, State, handler

pytest_plugins = ["duetime.testing.fixtures"]

@handler("fixture.double", retry={"max_attempts": 2})
async def double(payload: dict[str, int], job: Job) -> int:
    return 2 * payload["value"]

@handler("fixture.other")
def other(payload: dict[str, int]) -> str:
    return "other"

def test_the_fake(duetime_fake):
    duetime_fake.register(double)
    with duetime_fake.sync_client() as client:
        assert client.run("fixture.double", {"value": 2}, delay="100d") == 4

def test_the_real_one(duetime_worker, duetime_sync_client):
    queue = duetime_worker(double)
    job = duetime_sync_client.submit("fixture.double", {"value": 21}, queue=queue)
    assert (job.max_attempts, job.warnings) == (2, [])
    assert duetime_sync_client.wait_for(job.id, "30s").result == 42

def test_the_real_one_from_asyncio(duetime_worker, duetime_client):
    assert duetime_worker(double) == duetime_worker(double) != duetime_worker(other)
    async def test():
        async with duetime_client as client:
            return await client.run("fixture.other", queue=duetime_worker(other), wait="30s")
    assert asyncio.run(test()) == "other"

def test_the_engine(duetime_engine, duetime_service):
    assert duetime_service.temporal == duetime_engine.address
"""

MISSING = """
pytest_plugins = ["duetime.testing.fixtures"]

def test_it(duetime_service):
    pass
"""


def run(directory: Path, suite: str, *, path: str, **env: str) -> subprocess.CompletedProcess[str]:
    (directory / "conftest.py").write_text("")
    (directory / "test_it.py").write_text(suite)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error"],
        cwd=directory,
        env=clean | {"PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
        timeout=110,
    )


def test_a_suite_of_another_project_passes(tmp_path: Path) -> None:
    done = run(tmp_path, SUITE, path=str(ROOT))
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_without_the_code_of_the_service_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    (tmp_path / "only/duetime").symlink_to(ROOT / "duetime")
    done = run(tmp_path, MISSING, path=str(tmp_path / "only"))
    assert done.returncode == 1
    assert "the code of Duetime's service is not installed here" in done.stdout
    assert "DUETIME_TEST_URL" in done.stdout


def test_a_service_that_is_named_is_used(tmp_path: Path) -> None:
    suite = MISSING.replace("pass", 'assert duetime_service.url == "http://duetime.example"')
    named = {"DUETIME_TEST_URL": "http://duetime.example", "DUETIME_TEST_TEMPORAL": "temporal.example:7233"}
    done = run(tmp_path, suite, path=str(ROOT), **named)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
