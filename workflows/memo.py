"""The memo of a workflow: its own words, and beside them whatever somebody starts it with, which may be anything."""

from typing import Any

from temporalio import workflow
from temporalio.common import RawValue

from workflows.one_argument import value_of


def whole_memo() -> dict[str, Any]:
    """All of it for the next run, to which what a run adds to its memo does not go along by itself: each value as it
    came, since what cannot be read would fail the workflow task again and again."""
    return {name: RawValue(payload) for name, payload in workflow.info().raw_memo.items()}


def memo_value(name: str) -> Any:
    """One value; `None` where there is none that can be read."""
    payload = workflow.info().raw_memo.get(name)
    if payload is None:
        return None
    try:
        return value_of(RawValue(payload))
    except ValueError:
        return None
