"""The workflow of an operation on many jobs: freeze the set, wait to be told if it is a dry run, then let each job have
its turn, the canaries first.

It keeps numbers and a few examples; the jobs themselves are in the sets (`workflows.bulk_set`). What it knows is
published in its memo after each step, where it is read without any worker.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TemporalError

with workflow.unsafe.imports_passed_through():
    from pydantic import Field

    from activities.bulk.canaries import AWAIT_CANARIES
    from activities.bulk.freezing import FREEZE, FreezeRequest, set_id
    from activities.bulk.turns import TAKE_TURNS, Turns, TurnsRequest
    from duetime.contracts.bulk import (
        KEPT,
        MOST_JOBS,
        OPERATION,
        SET_JOBS,
        STANDING,
        TOLD,
        Fault,
        Frozen,
        JobRef,
        OperationState,
        Plan,
        Standing,
        merged,
    )
    from duetime.contracts.limits import ERROR_MESSAGE_LENGTH
    from duetime.contracts.operations import RunRequest
    from duetime.contracts.record import Part, cut
    from workflows.bulk_set import RELEASE
    from workflows.forgiving import forgiving
    from workflows.memo import memo_value, whole_memo
    from workflows.one_argument import one_argument, value_of
    from workflows.raw import raw

#: Signals: carry out what a dry run kept; let the jobs that have not had their turn alone.
RUN, STOP = "run", "stop"

#: Seconds of turns in one activity: as long a stop may take, and as long a worker's death may set it back.
_BATCH = 5.0
_PATIENT = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30))
_SILENCE = timedelta(seconds=6)


class Place(Part):
    """Where an operation goes on, beside its standing: handed from one history to the next."""

    standing: Standing = Standing()
    #: The page that is frozen next; `None` once all are.
    token: str | None = ""
    #: Whose turn is next.
    number: int = 0
    position: int = 0
    #: Canaries that began and are waited for.
    began: list[JobRef] = Field(default_factory=list)
    canaries_passed: bool = False
    #: A word that came before its time.
    told: RunRequest | None = None


class _Over(Exception):
    def __init__(self, state: OperationState, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


@workflow.defn(name=OPERATION)
class BulkOperation:
    """Workflow type `BulkOperation`."""

    def __init__(self) -> None:
        self._place = Place()
        self._told: RunRequest | None = None
        self._stop: str | None = None

    @workflow.run
    @raw
    async def run(self, *arguments: RawValue) -> dict[str, Any]:
        self._plan, place = _read(arguments)
        self._place = place or self._begin()
        self._told = self._told or self._place.told
        state, reason = await self._to_its_end()
        await self._release()
        # In the same step as the end of the workflow: whoever reads that it is over finds it over.
        self._publish(state=state, reason=reason)
        return self._standing.compact()

    async def _to_its_end(self) -> tuple[OperationState, str | None]:
        try:
            await self._freeze()
            if self._plan.dry_run:
                await self._until_told()
            await self._canaries()
            await self._everybody()
        except _Over as over:
            return over.state, over.reason
        except asyncio.CancelledError:
            return OperationState.STOPPED, workflow.cancellation_reason() or "cancelled through Temporal"
        except ActivityError as error:
            return OperationState.FAILED, cut(str(error.cause or error), ERROR_MESSAGE_LENGTH)
        return OperationState.DONE, None

    @workflow.signal(name=RUN)
    @forgiving
    def told_to_run(self, request: dict[str, Any]) -> None:
        """Carry the set out; the first such word counts."""
        self._told = self._told or RunRequest.model_validate(request)

    @workflow.signal(name=STOP)
    @forgiving
    def told_to_stop(self, reason: str) -> None:
        """Let alone who has not had a turn. What has begun goes on."""
        self._stop = self._stop or cut(str(reason), 600)

    @property
    def _standing(self) -> Standing:
        return self._place.standing

    def _begin(self) -> Place:
        try:
            return Place(standing=Standing.model_validate(memo_value(STANDING) or {}))
        except ValueError:  # somebody else's
            return Place()

    def _publish(self, **changes: Any) -> None:
        self._place.standing = self._standing.model_copy(update=changes)
        workflow.upsert_memo({STANDING: self._standing.compact()})

    def _check(self) -> None:
        """Between two steps: whether to go on, and whether with a fresh history."""
        if self._stop is not None:
            raise _Over(OperationState.STOPPED, self._stop)
        if workflow.info().is_continue_as_new_suggested():
            self._place.told = self._told
            arguments = [self._plan.compact(), self._place.model_dump(mode="json")]
            workflow.continue_as_new(args=arguments, memo=whole_memo())

    # -- the set ------------------------------------------------------------------------------------------

    async def _freeze(self) -> None:
        while (token := self._place.token) is not None:
            self._check()
            standing = self._standing
            request = FreezeRequest(
                operation=workflow.info().workflow_id,
                number=standing.sets,
                query=self._plan.query,
                states=self._plan.states,
                token=token,
                looked_at=standing.looked_at,
                errors=self._plan.action == "retry",
            )
            frozen = Frozen.model_validate(
                await workflow.execute_activity(
                    FREEZE,
                    request.model_dump(mode="json"),
                    result_type=dict[str, Any],
                    start_to_close_timeout=timedelta(minutes=10),
                    heartbeat_timeout=timedelta(seconds=60),
                    retry_policy=_PATIENT,
                    summary=f"set {standing.sets}",
                )
            )
            self._place.token = frozen.then or None
            self._publish(
                total=standing.total + frozen.count,
                sets=standing.sets + bool(frozen.count),
                sample=[*standing.sample, *frozen.sample][:TOLD],
                errors=merged(standing.errors, frozen.errors),
                looked_at=standing.looked_at + frozen.looked_at,
            )
            if self._standing.total > MOST_JOBS:
                why = f"the filter holds more than {MOST_JOBS:,} jobs: narrow it, by kind or time for example"
                raise _Over(OperationState.FAILED, why)

    async def _until_told(self) -> None:
        if self._told is None:
            if self._standing.frozen_at is None:
                self._publish(state=OperationState.FROZEN, frozen_at=workflow.now())
            since = self._standing.frozen_at or workflow.now()
            left = max(timedelta(0), since + KEPT - workflow.now())
            try:
                await workflow.wait_condition(
                    lambda: self._told is not None or self._stop is not None, timeout=left
                )
            except TimeoutError:
                raise _Over(OperationState.EXPIRED, "nobody ran it for a day") from None
        self._check_stop()
        told = self._told or RunRequest()
        rate = told.rate or self._standing.rate
        canary = told.canary if self._plan.action == "retry" and told.canary else self._standing.canary
        self._plan = self._plan.model_copy(update={"dry_run": False, "rate": rate, "canary": canary})
        self._publish(dry_run=False, rate=rate, canary=canary)

    def _check_stop(self) -> None:
        if self._stop is not None:
            raise _Over(OperationState.STOPPED, self._stop)

    # -- turns --------------------------------------------------------------------------------------------

    async def _canaries(self) -> None:
        wanted = self._plan.canary
        if wanted is None or self._place.canaries_passed:
            return
        self._publish(state=OperationState.CANARY)
        while len(self._place.began) < wanted and self._place.number < self._standing.sets:
            self._check()
            turns = await self._turns(wanted - len(self._place.began), canary=True)
            self._place.began = [*self._place.began, *turns.began]
        lost = await self._await_canaries()
        if lost:
            says = f"{len(lost)} of {len(self._place.began)} canaries did not succeed"
            self._publish(lost=lost)
            raise _Over(OperationState.HALTED, says)
        self._place.began, self._place.canaries_passed = [], True

    async def _await_canaries(self) -> list[Fault]:
        if not self._place.began:
            return []
        handle = workflow.start_activity(
            AWAIT_CANARIES,
            [job.model_dump(mode="json") for job in self._place.began],
            result_type=list[dict[str, Any]],
            start_to_close_timeout=timedelta(days=30),
            heartbeat_timeout=_SILENCE,
            retry_policy=_PATIENT,
            summary="waits for the canaries",
        )
        await workflow.wait_condition(lambda: handle.done() or self._stop is not None)
        if not handle.done():
            handle.cancel()
        self._check_stop()
        return [Fault.model_validate(fault) for fault in await handle]

    async def _everybody(self) -> None:
        if self._place.number < self._standing.sets:
            self._publish(state=OperationState.RUNNING)
        while self._place.number < self._standing.sets:
            self._check()
            await self._turns(min(SET_JOBS, max(1, round(self._plan.rate * _BATCH))))

    async def _turns(self, most: int, *, canary: bool = False) -> Turns:
        """The next few have their turn."""
        place, plan = self._place, self._plan
        request = TurnsRequest(
            operation=workflow.info().workflow_id,
            number=place.number,
            begin=place.position,
            most=most,
            action=plan.action,
            how=plan.how,
            states=plan.states,
            rate=plan.rate,
            canary=canary,
        )
        turns = Turns.model_validate(
            await workflow.execute_activity(
                TAKE_TURNS,
                request.model_dump(mode="json"),
                result_type=dict[str, Any],
                start_to_close_timeout=timedelta(hours=1),
                heartbeat_timeout=_SILENCE + timedelta(seconds=1 / plan.rate),
                retry_policy=_PATIENT,
                summary=f"set {place.number} from {place.position}",
            )
        )
        place.number, place.position = (place.number + 1, 0) if turns.over else (place.number, turns.next)
        self._publish(tally=self._standing.tally.plus(turns.tally))
        return turns

    async def _release(self) -> None:
        """Lets the sets go. One that is gone already is no matter."""
        for number in range(self._standing.sets):
            handle = workflow.get_external_workflow_handle(set_id(workflow.info().workflow_id, number))
            try:
                await handle.signal(RELEASE)
            except TemporalError:
                workflow.logger.info("set %d of the operation is gone", number)


def _read(arguments: Sequence[RawValue]) -> tuple[Plan, Place | None]:
    """The plan, and where an earlier run left off; a readable failure for anything else, since a workflow task that
    fails is tried for ever."""
    try:
        if len(arguments) == 2:
            plan, place = map(value_of, arguments)
            return Plan.model_validate(plan), Place.model_validate(place)
        return Plan.model_validate(one_argument(arguments)), None
    except ValueError:
        says = "start operations on many jobs through the API: POST /v1/jobs:retry or /v1/jobs:cancel"
        raise ApplicationError(says, type="InvalidOperation", non_retryable=True) from None
