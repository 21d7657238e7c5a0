"""The kinds that come with Duetime."""

from typing import Any

from duetime import handler
from duetime.handlers import Handler, find_handlers


@handler("noop")
async def noop(payload: dict[str, Any]) -> dict[str, Any]:
    """Does nothing and returns its payload: for trying things out."""
    return payload


def builtin_handlers() -> dict[str, Handler]:
    """The built-in handlers that this worker may run."""
    return find_handlers([noop])
