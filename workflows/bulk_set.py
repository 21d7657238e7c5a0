"""A set of jobs that an operation keeps: its input, for as long as the operation lasts. It does nothing."""

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from duetime.contracts.bulk import JOB_SET
    from workflows.forgiving import forgiving

#: Signal: the operation needs it no more.
RELEASE = "release"


@workflow.defn(name=JOB_SET)
class BulkSet:
    """Workflow type `BulkSet`. The jobs are in its first event, for others to read."""

    def __init__(self) -> None:
        self._released = False

    @workflow.run
    async def run(self, jobs: Any = None) -> None:
        await workflow.wait_condition(lambda: self._released)

    @workflow.signal(name=RELEASE)
    @forgiving
    def release(self, *_: Any) -> None:
        """Let it go."""
        self._released = True
