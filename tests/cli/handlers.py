"""What `duetime worker` runs in tests."""

import asyncio

from duetime import handler


@handler("cli.double")
async def double(payload: dict[str, int]) -> int:
    return 2 * payload["value"]


@handler("cli.slow")
async def slow(payload: dict[str, int]) -> str:
    await asyncio.sleep(2)
    return "done"
