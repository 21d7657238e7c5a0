"""Where a job stands, and what may be said to it while it lives: signals and updates of workflow `Job`."""

from datetime import datetime
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from duetime import attributes
from duetime.contracts import limits
from duetime.contracts.carry import Carry, Change, StopRequest
from duetime.contracts.concurrency import PLACE
from duetime.contracts.instants import parse_instant
from duetime.contracts.record import DEPENDENTS, VIEW, Error, Record, View
from duetime.contracts.states import State
from duetime.jobs.names import ENDED
from duetime.predecessors import Predecessors
from workflows.commands import command
from workflows.forgiving import forgiving
from workflows.order import DEPENDENT, PREDECESSOR, Dependents
from workflows.phase import Phase
from workflows.taking import Taking


class Standing:
    """The part of the workflow that others see and change. What has no value here is set for jobs alone, not for input
    that is none."""

    _due_at: datetime
    _priority: int
    _record: Record
    _carry: Carry
    _predecessors: Predecessors
    _taking: Taking

    def __init__(self) -> None:
        self._phase = Phase.WAITING_FOR_DUE
        #: Why the input is no job.
        self._error: Exception | None = None
        #: When the jobs that this one comes after had succeeded.
        self._ready_at: datetime | None = None
        self._moved = False
        self._hurry = False
        self._stop = StopRequest()
        self._dependents = Dependents()

    def _publish(
        self,
        *,
        next_attempt_at: datetime | None = None,
        reason: str | None = None,
        error: Error | None = None,
    ) -> None:
        view = View(
            due_at=self._due_at,
            ready_at=self._ready_at,
            priority=self._priority,
            next_attempt_at=next_attempt_at,
            reason=reason,
            record=self._record,
            error=error,
            **self._waiting(),
        )
        workflow.upsert_memo({VIEW: view.compact()})

    def _waiting(self) -> dict[str, Any]:
        """The places that it has and waits for."""
        return (
            {"limits": self._taking.limits, "limited_at": self._carry.turn_at} if self._taking.limits else {}
        )

    @workflow.signal(name="stop")
    @forgiving
    def stop(self, request: dict[str, Any]) -> None:
        """How a cancellation that follows is to be carried out."""
        self._stop = StopRequest.model_validate(request)

    @workflow.signal(name=DEPENDENT)
    @forgiving
    def add_dependent(self, job_id: str) -> None:
        """Another job waits for this one. Who ends this job from outside finds it in the memo."""
        self._dependents.add(job_id)
        workflow.upsert_memo({DEPENDENTS: self._dependents.ids})

    @workflow.signal(name=PREDECESSOR)
    @forgiving
    def predecessor_ended(self, told: dict[str, str]) -> None:
        """A job that this one waits for has ended."""
        if self._error is None:
            self._predecessors.learn({told["id"]: State(told["state"])})

    @workflow.signal(name=ENDED)
    @forgiving
    def predecessors_ended(self, told: dict[str, str]) -> None:
        """Jobs that this one waits for had ended before it looked."""
        if self._error is None:
            self._predecessors.learn({job_id: State(state) for job_id, state in told.items()})

    @workflow.signal(name=PLACE)
    @forgiving
    def place_granted(self, told: dict[str, Any]) -> None:
        """A concurrency limit gave it a place."""
        if self._error is None:
            self._taking.granted(told)

    def _can_move(self, wanted: Change) -> None:
        if wanted.run_at and parse_instant(wanted.run_at) - workflow.now() > limits.FURTHEST_RUN_AT:
            raise ValueError("run_at: more than five years ahead")
        self._refuse_unless(Phase.WAITING_FOR_DUE, Phase.WAITING_FOR_PLACE, Phase.DISPATCHED)

    @command("move", Change, check=_can_move, policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def move(self, wanted: Change) -> None:
        """Another due time or priority; refused with `TooLate` once neither matters any more."""
        if wanted.priority is not None:
            self._priority = wanted.priority
        if wanted.run_at is not None:
            self._due_at = parse_instant(wanted.run_at)
            workflow.upsert_search_attributes([attributes.DUE_AT.value_set(self._due_at)])
            self._moved = self._phase in (Phase.DISPATCHED, Phase.WAITING_FOR_PLACE)
        self._publish()
        await workflow.wait_condition(lambda: not self._moved)
        if self._phase is Phase.ENDING:
            raise ApplicationError("the job was being finished", type="TooLate", non_retryable=True)

    def _can_run_now(self) -> None:
        self._refuse_unless(Phase.WAITING_FOR_DUE, Phase.BACKING_OFF)

    @command("run_now", check=_can_run_now)
    def run_now(self) -> None:
        """Start a scheduled job, or the next attempt of one that waits for it."""
        if self._phase is Phase.WAITING_FOR_DUE:
            self._due_at = min(self._due_at, workflow.now())
            workflow.upsert_search_attributes([attributes.DUE_AT.value_set(self._due_at)])
            self._publish()
        self._hurry = True

    def _refuse_unless(self, *phases: Phase) -> None:
        if self._error is not None or self._phase not in phases:
            raise ApplicationError("too late for that", type="TooLate", non_retryable=True)
