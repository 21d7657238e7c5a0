"""The fixtures that other projects use, in a pytest of their own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from duetime.testing.running import RunningService, ServiceMissing, named_service, running_service

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
    queue = duetime_worker(double, other)
    job = duetime_sync_client.submit("fixture.double", {"value": 21}, queue=queue)
    assert (job.max_attempts, job.warnings) == (2, [])
    assert duetime_sync_client.wait_for(job.id, "30s").result == 42

def test_the_real_one_from_asyncio(duetime_worker, duetime_client):
    queue = duetime_worker(double, other)
    assert duetime_worker(other, double) == queue
    async def test():
        async with duetime_client as client:
            return await client.run("fixture.other", queue=queue, wait="30s")
    assert asyncio.run(test()) == "other"

def test_the_engine(duetime_engine, duetime_service):
    assert duetime_service.temporal == duetime_engine.address
"""


def test_a_suite_of_another_project_passes(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
    without = [
        f"-pno:{plugin}" for plugin in ("cacheprovider", "asyncio", "schemathesis", "hypothesispytest")
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *without, "-W", "error"],
        cwd=tmp_path,
        env=clean | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_without_the_code_of_the_service_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "workflows" else name)
    with pytest.raises(ServiceMissing, match="DUETIME_TEST_URL and DUETIME_TEST_TEMPORAL"):
        running_service("127.0.0.1:7233").__enter__()


def test_a_service_that_is_named_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DUETIME_TEST_TEMPORAL", raising=False)
    monkeypatch.setenv("DUETIME_TEST_URL", "http://duetime.example")
    assert named_service() is None
    monkeypatch.setenv("DUETIME_TEST_TEMPORAL", "temporal.example:7233")
    assert named_service() == RunningService("http://duetime.example", "temporal.example:7233")
