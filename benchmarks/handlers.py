"""What the benchmark's jobs run: as much as the yardstick's activity."""

from typing import Any

from duetime import handler


@handler("bare")
async def bare(payload: dict[str, Any]) -> dict[str, Any]:
    """Returns its payload."""
    return payload
