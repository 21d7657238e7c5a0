"""A module whose handler takes a kind that the service brings along."""

from typing import Any

from duetime import handler


@handler("noop")
async def noop(payload: dict[str, Any]) -> None:
    """Would stand in for the built-in one."""
