"""Runs workflows as another runner does, with two things more.

They may ask how long their start was held back. The server tells the SDK with the start, and the SDK does not pass it
on to workflow code. Asking the server would cost a call and an event for each job that began late, which in a flood is
every one.

And what they, or their updates, are given reaches them as it came, however many arguments that are (`workflows.raw`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from temporalio.bridge.proto.workflow_activation import InitializeWorkflow, WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import (
    UnsandboxedWorkflowRunner,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowRunner,
)

from workflows.raw import bundle
from workflows.start_delay import START_DELAY


class Runner(WorkflowRunner):
    """`inner`, by default the one without a sandbox, for workflows that ask for `START_DELAY`."""

    def __init__(self, inner: WorkflowRunner | None = None) -> None:
        self._inner = inner or UnsandboxedWorkflowRunner()

    def prepare_workflow(self, defn: Any) -> None:
        self._inner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        start = _Start()
        asked: dict[str, Callable[..., Any]] = {**det.extern_functions, START_DELAY: lambda: start.delay}
        return _Overheard(
            self._inner.create_instance(replace(det, extern_functions=asked)), start, det.defn.name
        )

    def set_worker_level_failure_exception_types(self, types: Sequence[type[BaseException]]) -> None:
        self._inner.set_worker_level_failure_exception_types(types)


class _Start:
    """What the first activation of a workflow tells, in every replay alike."""

    delay = timedelta(0)

    def hear(self, began: InitializeWorkflow) -> None:
        # Named for cron workflows; it is the started event's `first_workflow_task_backoff`.
        self.delay = began.cron_schedule_to_schedule_interval.ToTimedelta()


class _Overheard(WorkflowInstance):
    """`inner`, of which `start` hears the first activation; `name` is `None` for the dynamic workflow."""

    def __init__(self, inner: WorkflowInstance, start: _Start, name: str | None) -> None:
        self._inner, self._start, self._name = inner, start, name

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        for job in act.jobs:
            if job.HasField("do_update"):
                bundle(job.do_update.input)
            elif job.HasField("initialize_workflow"):
                self._start.hear(job.initialize_workflow)
                if self._name is not None:  # the dynamic one's are not decoded
                    bundle(job.initialize_workflow.arguments)
        return self._inner.activate(act)

    def get_serialization_context(self, command_info: Any) -> Any:
        return self._inner.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> Any:
        return self._inner.get_external_store_context(command_info)

    def get_info(self) -> Any:
        return self._inner.get_info()

    def get_thread_id(self) -> int | None:
        return self._inner.get_thread_id()
