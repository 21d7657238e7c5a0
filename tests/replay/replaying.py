"""Replays recorded histories against the workflows of today.

    python -m tests.replay.replaying

replays them all and ends with 1 when one of them does not fit. Runs in a process of its own too, with another order of
hashes: code that walks over a set decides otherwise there.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from duetime.process import run_main
from tests.replay.record import HISTORIES
from workflows.runner import Runner
from workflows.worker import WORKFLOWS


def recorded() -> list[Path]:
    """All histories, oldest version and first name first."""
    return sorted(HISTORIES.glob("*.json"))


async def replay(path: Path) -> Exception | None:
    """Why this history does not fit the workflows of today, if it does not. In the sandbox, with no cache."""
    return await replay_text(await asyncio.to_thread(path.read_text))


async def replay_text(text: str) -> Exception | None:
    # Its own id, since the spread of a job hangs on it.
    started = json.loads(text)["events"][0]["workflowExecutionStartedEventAttributes"]
    history = WorkflowHistory.from_json(started["workflowId"], text)
    replayer = Replayer(
        workflows=WORKFLOWS,
        data_converter=pydantic_data_converter,
        workflow_runner=Runner(SandboxedWorkflowRunner()),
    )
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return result.replay_failure


async def replay_all(paths: Sequence[Path]) -> int:
    failures = {path.name: failure for path in paths if (failure := await replay(path)) is not None}
    for name, failure in failures.items():
        print(f"{name}: {failure}")
    print(f"{len(paths) - len(failures)} of {len(paths)} histories fit")
    return 1 if failures or not paths else 0


async def main() -> int:
    return await replay_all(recorded())


if __name__ == "__main__":
    run_main(main)
