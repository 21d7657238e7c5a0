"""An attempt whose worker was killed before anybody heard of it: the server's history knows who it was."""

import sys
from pathlib import Path

from temporalio.client import Client

from duetime.engine import EmbeddedEngine
from duetime.worker import Worker
from tests.api.caller import Caller
from tests.api.stage import HANDLERS
from tests.engine.programs import environment, read_until, start_python

PROGRAM = """
import asyncio, sys
from duetime import handler
from duetime.connection import connect
from duetime.worker import Worker

@handler("echo")
async def take(payload: dict) -> None:
    print("taken", flush=True)
    await asyncio.Event().wait()

async def main() -> None:
    client = await connect(sys.argv[1])
    async with Worker(client, [take], queues=[sys.argv[2]]):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_worker_killed_at_once_is_named(
    api: Caller, engine: EmbeddedEngine, client: Client, tmp_path: Path
) -> None:
    assert sys.platform != "win32"
    victim = await start_python("-c", PROGRAM, engine.address, api.queue, cwd=tmp_path, env=environment())
    try:
        await read_until(victim, "ready")
        accepted = await api.submit("echo", payload={"n": 1}, lease="2s")
        await read_until(victim, "taken")
    finally:
        victim.kill()
    await victim.wait()
    async with Worker(client, HANDLERS, queues=[api.queue]):
        done = await api.final(accepted["id"])
    lost, good = done["attempts"]
    assert (done["state"], done["result"]) == ("succeeded", {"n": 1})
    assert (lost["outcome"], lost["number"], good["number"]) == ("lease_lost", 1, 2)
    assert lost["worker"].startswith(f"{victim.pid}@")
    assert lost["started_at"] and lost["finished_at"] > lost["started_at"]
    assert lost["fencing_token"] < good["fencing_token"]
    assert done["started_at"] == lost["started_at"]
