"""Workflow code that has run in production keeps replaying."""

import asyncio
import json
import os
import re
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import WorkflowTaskFailedCause as Cause
from temporalio.client import WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from duetime.engine import EmbeddedEngine, EngineConfig
from tests.replay.limit_scenarios import NEED_A_CACHE
from tests.replay.record import HISTORIES, VERSION
from tests.replay.replaying import recorded, replay, replay_text
from tests.replay.stage import SCENARIOS, Stage
from workflows.runner import Runner
from workflows.worker import orchestrator

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
async def test_recorded_histories_fit(path: Path) -> None:
    assert await replay(path) is None


def test_every_scenario_is_recorded() -> None:
    assert {path.name for path in recorded()} >= {f"{name}-{VERSION}.json" for name in SCENARIOS}


async def test_they_fit_under_another_order_of_hashes() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.replay.replaying"),
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert f"{len(recorded())} of {len(recorded())} histories fit" in output.decode()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("happy", '"activityType": {"name": "ok"}', '"activityType": {"name": "other"}'),
        ("delayed", '"timerId": "1"', '"timerId": "7"'),
        ("snoozed", '"activityId": "2"', '"activityId": "3"'),
    ],
)
async def test_a_history_of_another_workflow_does_not_fit(name: str, old: str, new: str) -> None:
    history = json.dumps(json.loads((HISTORIES / f"{name}-{VERSION}.json").read_text()))
    assert old in history
    failure = await replay_text(history.replace(old, new))
    assert failure is not None and "Nondeterminism" in str(failure)


@pytest.mark.parametrize(
    ("names", "more"),
    [
        pytest.param(SCENARIOS.keys() - NEED_A_CACHE, {"max_cached_workflows": 0}, id="no cache"),
        pytest.param(NEED_A_CACHE, {}, id="cache"),
    ],
)
async def test_the_workflows_run_in_the_sandbox_and_without_a_cache(
    names: set[str], more: dict[str, int]
) -> None:
    """Every workflow task replays its job from the start; a library that the sandbox refuses would show here."""
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        client = await engine.client(data_converter=pydantic_data_converter)
        # So that a busy machine has done each task before the server gives it up.
        few = asyncio.Semaphore(8)

        async def play(name: str) -> WorkflowHandle:
            async with few:
                return await SCENARIOS[name](Stage.new(client))

        async with orchestrator(client, workflow_runner=Runner(SandboxedWorkflowRunner()), **more):
            played = sorted(names)
            ended = await asyncio.gather(*map(play, played))
        for name, handle in zip(played, ended, strict=True):
            for event in (await handle.fetch_history()).events:
                failed = event.workflow_task_failed_event_attributes
                # The server itself fails a task when news arrives with its end, and has it done again.
                assert failed.cause in (0, Cause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND), (name, failed)


def test_histories_tell_nothing_of_the_machine_that_recorded_them() -> None:
    for path in recorded():
        text = path.read_text()
        decoded = [b64decode(data).decode() for data in re.findall(r'"data": "([^"]*)"', text)]
        for part in (text, *decoded):
            assert not re.search(r'"/(home|work|tmp|Users|usr|root)/', part.replace("\\", "")), path.name
