"""Records the histories that the replay tests hold every later version to.

    python -m tests.replay.record

plays all scenarios on an embedded server and writes their histories, named by the version that made them. Histories of
released versions are never written again: they are what runs in production. `--again` does it all the same, before a
release.
"""

import asyncio
import json
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.process import run_main
from tests.replay import bulk_scenarios as bulk_scenarios  # adds its own
from tests.replay import limit_scenarios as limit_scenarios
from tests.replay import pipeline_scenarios as pipeline_scenarios
from tests.replay import scenarios as scenarios
from tests.replay import schedule_scenarios as schedule_scenarios
from tests.replay.stage import SCENARIOS, Stage
from workflows.worker import orchestrator

ROOT = Path(__file__).parents[2]
HISTORIES = Path(__file__).parent / "histories"
VERSION = "0.1.0"


async def record(client: Client, name: str, few: asyncio.Semaphore) -> None:
    async with few:
        handle = await SCENARIOS[name](Stage.new(client))
    history = json.loads((await handle.fetch_history()).to_json())
    (HISTORIES / f"{name}-{VERSION}.json").write_text(json.dumps(_anywhere(history), indent=1) + "\n")
    print(f"{name}: {len(history['events'])} events")


def _anywhere(value: Any) -> Any:
    """Where the files of this machine lie, which stacks tell in plain and in encoded payloads, is of no interest."""
    match value:
        case dict():
            return {
                key: _recoded(item) if key == "data" and isinstance(item, str) else _anywhere(item)
                for key, item in value.items()
            }
        case list():
            return [_anywhere(item) for item in value]
        case str():
            for folder in (ROOT, Path(sys.prefix)):
                value = value.replace(f"{folder}/", "")
    return value


def _recoded(data: str) -> str:
    return b64encode(_anywhere(b64decode(data).decode()).encode()).decode()


async def main() -> int:
    known = {path.name.removesuffix(f"-{VERSION}.json") for path in HISTORIES.glob(f"*-{VERSION}.json")}
    wanted = [name for name in SCENARIOS if name not in known or "--again" in sys.argv]
    HISTORIES.mkdir(exist_ok=True)
    async with EmbeddedEngine(EngineConfig(ui_port=None)) as engine:
        # Whose machine it was is of no interest.
        client = await engine.client(data_converter=pydantic_data_converter, identity="1@recorder")
        async with orchestrator(client):
            few = asyncio.Semaphore(3)  # so that nobody comes too late for what it wants to do
            await asyncio.gather(*(record(client, name, few) for name in wanted))
    return 0


if __name__ == "__main__":
    run_main(main)
