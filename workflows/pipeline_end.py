"""How a pipeline's end is told."""

from collections.abc import Mapping
from typing import Any

from temporalio.exceptions import ApplicationError

from duetime.contracts import limits
from duetime.contracts.pipeline_state import STATE_OF, Mark
from duetime.contracts.record import cut
from duetime.contracts.states import ErrorType, State

_FIRST = 5


def in_words(marks: Mapping[str, Mark]) -> dict[str, State]:
    """The state in which each job ended."""
    return {name: STATE_OF[mark] for name, mark in marks.items()}


def failure_of(
    state: State, marks: Mapping[str, Mark], ending: dict[str, Any], reason: str | None
) -> ApplicationError:
    """The failure that a pipeline ends with which did not succeed."""
    match state:
        case State.EXPIRED:
            kind, message = (
                ErrorType.DEADLINE_EXCEEDED,
                reason or "the pipeline was not finished by its deadline",
            )
        case State.CANCELLED:
            kind, message = ErrorType.CANCELLED, reason or "cancelled"
        case _:
            kind, message = ErrorType.JOBS_FAILED, _which(marks)
    return ApplicationError(cut(message, limits.ERROR_MESSAGE_LENGTH), ending, type=kind, non_retryable=True)


def _which(marks: Mapping[str, Mark]) -> str:
    ran_badly = (Mark.FAILED, Mark.CANCELLED, Mark.EXPIRED)
    bad = [f"{name} {STATE_OF[mark]}" for name, mark in marks.items() if mark in ran_badly]
    more = f" and {len(bad) - _FIRST:,} more" if len(bad) > _FIRST else ""
    skipped = sum(mark in (Mark.UPSTREAM_FAILED, Mark.HALTED) for mark in marks.values())
    hurt = f"; {skipped:,} skipped for that" if skipped else ""
    return f"{len(bad):,} of {len(marks):,} jobs did not succeed: {', '.join(bad[:_FIRST])}{more}{hurt}"
