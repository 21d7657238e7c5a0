"""The record of a job's attempts: what the workflow, the handler runtime and the API hand to each other.

The server keeps no history of the attempts it retries by itself, so the record travels with the work: in the
heartbeat details while an attempt runs or waits for its retry, in the answer of an attempt, and at the end in the
workflow's result or error. All of it is plain JSON, readable in the Temporal Web UI.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from duetime.contracts import limits
from duetime.contracts.instants import EPOCH
from duetime.contracts.states import FREE, AttemptOutcome


class Part(BaseModel):
    """A part of the record; fields that later versions add have defaults, unknown ones are dropped."""

    model_config = ConfigDict(extra="ignore")


class Error(Part):
    """A failure as text, cut to a safe length; never an object to rebuild."""

    type: str
    message: str
    stack: str | None = None


class Attempt(Part):
    """One try of a handler. `started_at` is the server's dispatch time, in UTC; so is the fencing token."""

    number: int
    fencing_token: int | None = None
    worker: str | None = None
    started_at: AwareDatetime | None = None
    finished_at: AwareDatetime | None = None
    outcome: AttemptOutcome = AttemptOutcome.RUNNING
    error: Error | None = None
    #: Which activity of the workflow carried it; the server's history knows the rest under that id.
    dispatch: str = ""
    #: The worker was heard of after it took the attempt.
    acknowledged: bool = True

    @property
    def is_free(self) -> bool:
        """Whether it used up none of `max_attempts`."""
        return self.outcome in FREE or not self.acknowledged


class Progress(Part):
    """How far a handler says it is."""

    done: float
    total: float | None = None
    message: str | None = None
    at: AwareDatetime | None = None


class Record(Part):
    """All attempts so far, and what the handler left for the next one."""

    attempts: list[Attempt] = []
    checkpoint: Any = None
    progress: Progress | None = None
    #: The highest fencing token of earlier runs under the job's id.
    token_floor: int = 0

    @property
    def highest_token(self) -> int:
        """The highest fencing token known of this job, 0 when there is none."""
        return max([self.token_floor, *(attempt.fencing_token or 0 for attempt in self.attempts)])

    def token_at(self, dispatched: datetime) -> int:
        """The fencing token of the next attempt, which the server dispatched then.

        That time in microseconds since 1970. Were the server's clock to step back, it would still be above all that
        are known here.
        """
        return max((dispatched - EPOCH) // timedelta(microseconds=1), self.highest_token + 1)

    @property
    def used(self) -> int:
        """How many of `max_attempts` are used up, a running attempt included."""
        return sum(not attempt.is_free for attempt in self.attempts)

    @property
    def next_number(self) -> int:
        """The number of the next attempt."""
        return self.attempts[-1].number + 1 if self.attempts else 1

    @property
    def unacknowledged(self) -> int:
        """How many attempts in a row, up to the last, no worker was heard of."""
        count = 0
        for attempt in reversed(self.attempts):
            if attempt.acknowledged:
                break
            count += 1
        return count

    def with_attempt(self, attempt: Attempt) -> "Record":
        """This record with `attempt` added, or put in place of the last one when that has its number."""
        earlier = self.attempts
        if earlier and earlier[-1].number == attempt.number:
            earlier = earlier[:-1]
        return self.model_copy(update={"attempts": shorten([*earlier, attempt])})

    def given_up(self, now: datetime) -> "Record":
        """This record with an attempt that still runs closed as cancelled: nobody takes its answer any more."""
        last = self.attempts[-1] if self.attempts else None
        if last is None or last.outcome is not AttemptOutcome.RUNNING:
            return self
        changes = {"outcome": AttemptOutcome.CANCELLED, "finished_at": now}
        return self.with_attempt(last.model_copy(update=changes))

    def compact(self) -> dict[str, Any]:
        """As JSON without defaults, for histories and heartbeats."""
        return self.model_dump(mode="json", exclude_defaults=True)


def shorten(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts with the texts of the older ones cut short, so that a long record stays small.

    Every attempt that cost one is kept. Beyond the bound the oldest free ones (snoozes, interruptions) go; the
    numbers show the gap.
    """
    kept = list(attempts)
    excess = len(kept) - limits.MAX_ATTEMPTS
    if excess > 0:
        spare = {attempt.number for attempt in [a for a in kept if a.is_free][:excess]}
        kept = [attempt for attempt in kept if attempt.number not in spare]
    for index in range(max(0, len(kept) - limits.DETAILED_ATTEMPTS)):
        old = index < len(kept) - limits.BRIEF_ATTEMPTS
        kept[index] = _briefly(
            kept[index], limits.SHORTEST_MESSAGE_LENGTH if old else limits.BRIEF_MESSAGE_LENGTH
        )
    return kept


def fitting(attempts: Sequence[Attempt], most: int) -> list[Attempt]:
    """The attempts as far as their JSON has room in `most` bytes: the newest as they are, in half of it, those before
    them with the shortest messages, and none of the oldest. The numbers show the gap."""
    kept: list[Attempt] = []
    left, full = most, True
    for attempt in reversed(attempts):
        size = _size(attempt)
        if full and most - left + size > most // 2:
            full = False
        if not full:
            attempt = _briefly(attempt, limits.SHORTEST_MESSAGE_LENGTH)
            size = _size(attempt)
        if size > left:
            break
        left -= size
        kept.append(attempt)
    return kept[::-1]


def _size(attempt: Attempt) -> int:
    """As JSON in a list, in bytes."""
    return len(attempt.model_dump_json(exclude_defaults=True).encode()) + 1


def _briefly(attempt: Attempt, length: int) -> Attempt:
    error = attempt.error
    if error is None or (error.stack is None and len(error.message) <= length + _MARKER):
        return attempt
    brief = Error(type=cut(error.type, length), message=cut(error.message, length))
    return attempt.model_copy(update={"error": brief})


#: How long the marker of a cut text may be: what was cut once is not cut again for its marker.
_MARKER = 40


def cut(text: str, length: int) -> str:
    """`text` if it has at most `length` characters, else its beginning with a marker that tells how long it was."""
    if len(text) <= length:
        return text
    return f"{text[:length]}… [cut, {len(text):,} characters]"


class Assignment(Part):
    """What a handler in any language gets as its second argument, beside the payload."""

    id: str
    run_id: str
    kind: str
    queue: str
    idempotency_key: str
    due_at: AwareDatetime
    nominal_time: AwareDatetime | None = None
    schedule_id: str | None = None
    pipeline_id: str | None = None
    max_attempts: int
    #: Attempts used up before this activity; the server's own count within it comes on top.
    attempts_used: int = 0
    dispatch: str = "1"
    #: The back-off that the runtime computes, as submitted.
    retry: dict[str, Any] = {}
    #: Seconds.
    timeout: float
    lease: float
    record: Record = Record()

    def compact(self) -> dict[str, Any]:
        """As JSON: what every handler may need is always there, what only our runtime reads when it says something."""
        always = {"attempts_used": self.attempts_used, "dispatch": self.dispatch}
        return self.model_dump(mode="json", exclude_defaults=True) | always


class Sign(Part):
    """A sign of life: the details of every heartbeat, and of every failure that ends an activity."""

    protocol: int = Field(1, alias="$duetime")
    record: Record = Record()
    #: Seconds from the end of the last attempt to the next one, when that has to wait.
    delay: float | None = None
    #: The worker had no handler for the kind: no attempt was made.
    no_handler: bool = False

    def compact(self) -> dict[str, Any]:
        return {"$duetime": self.protocol} | self.model_dump(
            mode="json", exclude_defaults=True, exclude={"protocol"}
        )


class Done(Sign):
    """What an activity of our runtime returns; any other value is a foreign handler's plain result."""

    result: Any = None

    def compact(self) -> dict[str, Any]:
        return super().compact() | {"result": self.result}


def read_sign(details: Sequence[Any]) -> Sign | None:
    """The sign in heartbeat or failure details; `None` for a foreign handler's, whatever they look like."""
    if not details or not _is_ours(details[0]):
        return None
    try:
        return Sign.model_validate(details[0])
    except ValidationError:
        return None


def read_done(result: Any) -> Done | None:
    """What our runtime returned; `None` for a foreign handler's plain result."""
    if not _is_ours(result):
        return None
    try:
        return Done.model_validate(result)
    except ValidationError:
        return None


def _is_ours(value: Any) -> bool:
    return isinstance(value, dict) and "$duetime" in value


class Ending(Part):
    """The result of workflow `Job`, and the details of its failure."""

    result: Any = None
    attempts: list[Attempt] = []
    checkpoint: Any = None
    progress: Progress | None = None

    def compact(self) -> dict[str, Any]:
        return {"result": self.result} | self.model_dump(
            mode="json", exclude_defaults=True, exclude={"result"}
        )


class View(Part):
    """What the workflow publishes in its memo when it leaves the straight path: read with the execution, exact."""

    due_at: AwareDatetime | None = None
    #: When the last of the jobs that it comes after had succeeded.
    ready_at: AwareDatetime | None = None
    priority: int | None = None
    #: Set while a timer of the workflow runs before the next attempt.
    next_attempt_at: AwareDatetime | None = None
    #: The concurrency limits (ids of their workflows) under which it has a place; while nothing of it is dispatched, it
    #: waits for one under the last of them, since `limited_at`.
    limits: list[str] = []
    limited_at: AwareDatetime | None = None
    #: Why: `no_handler`, `lease_lost`, `interrupted`, `snoozed`, `timed_out`.
    reason: str | None = None
    record: Record = Record()
    error: Error | None = None

    def compact(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


#: The memo key of `View`.
VIEW = "duetime"
#: The memo key of the ids of jobs that wait for this one.
DEPENDENTS = "duetime-dependents"
#: The memo key of what the API keeps of an Idempotency-Key.
IDEMPOTENCY = "duetime-key"
