"""A set of jobs that an operation keeps: its input, for as long as the operation lasts. It does nothing."""

from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from duetime.contracts.bulk import JOB_SET
    from workflows.forgiving import forgiving
    from workflows.one_argument import one_argument
    from workflows.raw import raw

#: Signal: the operation needs it no more.
RELEASE = "release"


@workflow.defn(name=JOB_SET)
class BulkSet:
    """Workflow type `BulkSet`. The jobs are in its first event, for others to read."""

    def __init__(self) -> None:
        self._released = False

    @workflow.run
    @raw
    async def run(self, *arguments: RawValue) -> None:
        if not _is_set(arguments):
            says = "a set of jobs is part of an operation: POST /v1/jobs:retry or /v1/jobs:cancel"
            raise ApplicationError(says, type="InvalidOperation", non_retryable=True)
        await workflow.wait_condition(lambda: self._released)

    @workflow.signal(name=RELEASE)
    @forgiving
    def release(self, *_: Any) -> None:
        """Let it go."""
        self._released = True


def _is_set(arguments: Sequence[RawValue]) -> bool:
    """Whether it is what an operation keeps; a set that somebody else made would be waiting for ever."""
    try:
        kept = one_argument(arguments)
    except ValueError:
        return False
    return isinstance(kept, dict) and isinstance(kept.get("jobs"), list)
