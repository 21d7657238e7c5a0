"""What `duetime worker` runs in tests."""

import asyncio
from pathlib import Path

from duetime import handler


@handler("cli.double")
async def double(payload: dict[str, int]) -> int:
    return 2 * payload["value"]


@handler("cli.slow")
async def slow(payload: dict[str, str]) -> str:
    """Runs until there is a file."""
    while not Path(payload["until"]).exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(0.01)
    return "done"
