"""Commands on schedules: checked here, carried out by the schedule's entity, which takes them one after the other."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ActivityError, ApplicationError, FailureError
from temporalio.service import RPCError, RPCStatusCode

from api.patience import in_time, time_left
from api.problems import Problem, invalid, unavailable
from api.schedules.checking import WorkCheck
from api.schedules.reading import ScheduleReader, no_such_schedule
from api.schedules.turns import Turns
from api.security.caller import Caller
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_book import SCHEDULE, Book, Put
from duetime.cron import RuleError, check_fires, fault_of, in_words, read_fields
from duetime.cron.compile import compile_rule
from duetime.schedules.ids import entity_id

#: Seconds left to answer with.
_MARGIN = 0.3


@dataclass(frozen=True)
class Done:
    """What a `put` did, and what to warn of."""

    created: bool
    changed: bool
    warnings: list[str]


@dataclass(frozen=True)
class Commander:
    """Carries the commands of `reader.caller` to the entities."""

    client: Client
    reader: ScheduleReader
    work: WorkCheck
    turns: Turns = field(default_factory=Turns)

    @property
    def _caller(self) -> Caller:
        return self.reader.caller

    @in_time()
    async def put(
        self, schedule_id: str, spec: ScheduleSpec, given: Any, expect: int | None, by: str
    ) -> Done:
        """Creates or replaces. `given` is the specification as it was sent."""
        self.work.check_caller(spec, self._caller)
        there = await self.reader.find(schedule_id)
        if there is not None and not self.reader.sees(there):
            raise Problem(409, "id-in-use", "The id is in use", "a schedule of another caller has this id")
        words, warnings = checked_rule(schedule_id, spec, there)
        checked = await self.work.check(schedule_id, spec, self._caller)
        put = Put(
            id=schedule_id,
            spec=given,
            job=checked.job,
            pipeline=checked.pipeline,
            in_words=words,
            by=by,
            expect=expect,
        )
        start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            SCHEDULE,
            id=entity_id(schedule_id),
            task_queue=ORCHESTRATION_QUEUE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            static_summary=words[:200],
        )

        async def send() -> Any:
            # The SDK tells the end of the start twice: unless somebody listens, asyncio logs a failure as an error.
            started = asyncio.ensure_future(start.workflow_handle())
            started.add_done_callback(lambda done: done.cancelled() or done.exception())
            return await self.client.execute_update_with_start_workflow(
                "put", put.model_dump(mode="json"), start_workflow_operation=start
            )

        told = await self._answer(send, schedule_id)
        return Done(told["created"], told["changed"], [*warnings, *checked.warnings])

    @in_time()
    async def tell(self, schedule_id: str, command: str, *arguments: Any) -> Any:
        """Has the entity carry out a command; a problem says why it does not."""
        handle = self.client.get_workflow_handle(entity_id(schedule_id))
        return await self._answer(lambda: handle.execute_update(command, args=list(arguments)), schedule_id)

    async def _answer(self, call: Callable[[], Awaitable[Any]], schedule_id: str) -> Any:
        """What the entity answers, when this command has its turn."""
        async with self.turns.place(schedule_id) as place:
            answered = place.answered
            try:
                async with asyncio.timeout(time_left() - _MARGIN), place.free:
                    told = await call()
            except WorkflowUpdateFailedError as error:
                place.answered += 1
                raise _refusal(error.cause, schedule_id) from None
            except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
                raise _unanswered(is_busy=place.answered > answered) from None
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    raise no_such_schedule(schedule_id) from None
                raise
            place.answered += 1
            return told


def checked_rule(schedule_id: str, spec: ScheduleSpec, there: Book | None) -> tuple[str, list[str]]:
    """The rule in words, and warnings; a `422` problem for one that cannot be read, or never fires."""
    now = datetime.now(UTC)
    try:
        rule = read_fields(spec, schedule_id)
        # One whose times are over may be put again with another job, or be made to go on.
        check_fires(rule, there.created_at if there is not None else now)
        compile_rule(rule, now)
    except RuleError as error:
        raise invalid([fault_of(error)]) from None
    return in_words(rule), list(rule.warnings)


def _unanswered(*, is_busy: bool) -> Problem:
    """Why no answer came in time: nobody runs the workflows, unless others were answered meanwhile."""
    if is_busy:
        return unavailable(
            "many change this schedule at the same time; this call may yet have its turn: read the schedule, or repeat",
            "schedule_busy",
        )
    return unavailable(
        "no worker answers on the queue of the workflows; start one (`python worker.py`) and repeat the call",
        "no_orchestrator",
        retry_after=5,
    )


def _refusal(cause: BaseException | None, schedule_id: str) -> Problem:
    """What the entity's refusal means to a caller."""
    if isinstance(cause, ActivityError):
        cause = cause.cause
    if not isinstance(cause, ApplicationError):
        why = cause.message if isinstance(cause, FailureError) else "it did not say why"
        return unavailable(f"the schedule could not be changed now: {why}", "temporal_busy")
    detail = cause.message
    match cause.type:
        case "NotThere" | "AcceptedUpdateCompletedWorkflow":
            return no_such_schedule(schedule_id)
        case "StaleRevision":
            revision = cause.details[0] if cause.details else None
            return Problem(
                409,
                "stale-revision",
                "Changed meanwhile",
                f"somebody else changed the schedule: {detail}; read it again and repeat the change",
                extra={"revision": revision},
            )
        case "TooLate":
            return Problem(409, "too-late", "Too late", detail)
        case "Overlapped":
            running = list(cause.details[0]) if cause.details else []
            return Problem(
                409,
                "overlapped",
                "A run is open",
                "a run of the schedule is open, and its `overlap` skips; name another `overlap` to run all the same",
                extra={"running": running},
            )
        case "Foreign":
            return Problem(409, "id-in-use", "The id is in use", detail)
        case "Refused" | "InvalidArgument":
            return Problem(422, "refused", "Refused", detail)
    return unavailable(f"the schedule could not be changed now: {detail}", "temporal_busy")
