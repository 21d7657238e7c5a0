"""A job as it is submitted: over HTTP, or as the one argument of workflow type `Job`."""

import hashlib
from datetime import datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from duetime.contracts import limits
from duetime.contracts.duration import format_duration, parse_duration
from duetime.contracts.instants import find_zone, format_instant, parse_instant

#: The workflow type of a job.
JOB = "Job"

_NAME = r"^[A-Za-z0-9_.:\-]+$"
DURATION_DESCRIPTION = '`"90s"`, `"1h30m"`, ISO 8601 `"PT5M"`, or a number of seconds'
DURATION_SCHEMA = {
    "anyOf": [{"type": "string", "maxLength": 64}, {"type": "number", "minimum": 0}],
    "description": DURATION_DESCRIPTION,
    "examples": ["90s"],
}

Span = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema(DURATION_SCHEMA),
]


def plain_text(text: str) -> str:
    if any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise ValueError("holds a control character or a lone surrogate")
    return text


def _no_dots(name: str) -> str:
    """HTTP clients resolve such a step of a path away (RFC 3986, 5.2.4): nothing could be read under this name."""
    if name in (".", ".."):
        raise ValueError('cannot be "." or ".."')
    return name


def _no_dots_between_slashes(name: str) -> str:
    for part in name.split("/"):
        _no_dots(part)
    return name


def _not_reserved(queue: str) -> str:
    if queue.startswith("duetime"):
        raise ValueError("queue names beginning with `duetime` are reserved")
    return queue


def _short_key(key: str) -> str:
    if len(plain_text(key).encode()) > limits.FAIRNESS_KEY_BYTES:
        raise ValueError(f"at most {limits.FAIRNESS_KEY_BYTES} bytes of UTF-8")
    return key


JobId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.ID_LENGTH, pattern=_NAME),
    AfterValidator(_no_dots),
]
#: The id of any job, those that Duetime derives included.
AnyJobId = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.DERIVED_ID_LENGTH, pattern=r"^[A-Za-z0-9_.:~\-]+$")
]
Kind = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.KIND_LENGTH, pattern=r"^[A-Za-z0-9_.:/\-]+$"),
    AfterValidator(_no_dots_between_slashes),
]
Queue = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.QUEUE_LENGTH, pattern=_NAME),
    AfterValidator(_no_dots),
    AfterValidator(_not_reserved),
]
Tag = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.TAG_LENGTH), AfterValidator(plain_text)
]


class Contract(BaseModel):
    """A part of the contract: nothing that it does not name is accepted."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def between(shortest: timedelta, longest: timedelta) -> AfterValidator:
    def check(span: timedelta) -> timedelta:
        if not shortest <= span <= longest:
            raise ValueError(f"must be from {format_duration(shortest)} to {format_duration(longest)}")
        return span

    return AfterValidator(check)


class Retry(Contract):
    """When a failed attempt is tried again: `initial_interval * backoff ** failures`, at most `max_interval`,
    give or take the share `jitter` of itself."""

    max_attempts: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_ATTEMPTS)] = 5
    initial_interval: Annotated[Span, between(timedelta(0), limits.LONGEST_CLOCK)] = timedelta(seconds=1)
    backoff: Annotated[float, Field(strict=True, ge=1, le=100, allow_inf_nan=False)] = 2.0
    max_interval: Annotated[Span, between(timedelta(0), limits.LONGEST_CLOCK)] = timedelta(minutes=5)
    jitter: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = 0.1
    non_retryable: Annotated[
        list[Annotated[str, StringConstraints(min_length=1, max_length=limits.ERROR_TYPE_LENGTH)]],
        Field(max_length=limits.NON_RETRYABLE),
    ] = []


class Concurrency(Contract):
    """At most `limit` jobs of one `key` run at once, on whatever queues and workers."""

    key: Annotated[
        str, StringConstraints(min_length=1), AfterValidator(_short_key), Field(examples=["tenant-42"])
    ]
    limit: Annotated[
        int,
        Field(strict=True, ge=limits.CONCURRENCY[0], le=limits.CONCURRENCY[1], examples=[3]),
    ]


class DueTime(Contract):
    """When: RFC 3339 with an offset, a wall time and its `timezone`, or a `delay` from now."""

    timezone: str | None = Field(None, examples=["Europe/Paris"])
    run_at: str | None = Field(
        None,
        description="RFC 3339 with an offset, or a wall time together with `timezone`; or use `delay`",
        examples=["2027-01-15T09:00:00+01:00"],
    )
    delay: Span | None = None

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str | None) -> str | None:
        if name is not None:
            find_zone(name)
        return name

    @field_validator("run_at")
    @classmethod
    def _instant(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is not None and "timezone" in info.data:
            parse_instant(text, info.data["timezone"])
        return text

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        if self.run_at is not None and self.delay is not None:
            raise ValueError("`run_at` and `delay` both say when: leave out one of them")
        if self.timezone is not None and self.run_at is None:
            raise ValueError("`timezone` only goes with `run_at`")
        return self

    def moment(self, now: datetime) -> datetime | None:
        """The instant in UTC; `None` when none is named, `ValueError` when it is more than five years ahead."""
        if self.run_at is not None:
            due = parse_instant(self.run_at, self.timezone)
        elif self.delay is not None:
            due = now + self.delay
        else:
            return None
        if due - now > limits.FURTHEST_RUN_AT:
            raise ValueError("more than five years ahead")
        return due


class JobSpec(DueTime):
    """One job as submitted. Only `kind` is required.

    >>> JobSpec.model_validate({"kind": "reminder.send", "delay": "15m"}).queue
    'default'
    """

    kind: Kind
    payload: dict[str, Any] = {}
    id: JobId | None = None
    queue: Queue = "default"
    spread: Annotated[Span, between(timedelta(0), limits.LONGEST_SPREAD)] = timedelta(0)
    priority: Annotated[int, Field(strict=True, ge=limits.PRIORITY[0], le=limits.PRIORITY[1])] = 3
    fairness_key: Annotated[str, StringConstraints(min_length=1), AfterValidator(_short_key)] | None = None
    fairness_weight: Annotated[
        float,
        Field(strict=True, ge=limits.FAIRNESS_WEIGHT[0], le=limits.FAIRNESS_WEIGHT[1], allow_inf_nan=False),
    ] = 1.0
    concurrency: Concurrency | None = None
    retry: Retry = Retry()
    timeout: Annotated[Span, between(limits.SHORTEST_TIMEOUT, limits.LONGEST_CLOCK)] = timedelta(minutes=10)
    lease: Annotated[Span, between(limits.SHORTEST_LEASE, limits.LONGEST_LEASE)] = timedelta(seconds=30)
    queue_timeout: Annotated[Span, between(limits.SHORTEST_TIMEOUT, limits.LONGEST_CLOCK)] | None = None
    deadline: Annotated[Span, between(limits.SHORTEST_TIMEOUT, limits.LONGEST_CLOCK)] | None = None
    after: Annotated[
        list[AnyJobId],
        Field(
            max_length=limits.AFTER, description="ids of jobs that must have succeeded before this one starts"
        ),
    ] = []
    tags: Annotated[list[Tag], Field(max_length=limits.TAGS)] = []

    def due_at(self, job_id: str, accepted_at: datetime) -> datetime:
        """When the job is due, in UTC: `run_at` or `accepted_at + delay`, moved by its share of `spread`.

        `ValueError` when that is more than five years ahead.
        """
        due = self.moment(accepted_at) or accepted_at
        return due + spread_offset(job_id, self.spread)

    def settled(self, job_id: str, accepted_at: datetime) -> "JobSpec":
        """The same job with its due time as one instant, which is what the workflow is given.

        A job for now names no instant: it is due when the server accepts it, by the server's clock.
        """
        due = self.due_at(job_id, accepted_at)
        return self.model_copy(
            update={
                "id": None,  # the workflow's own id says it
                "run_at": format_instant(due) if due > accepted_at or self.run_at is not None else None,
                "timezone": None,
                "delay": None,
                "spread": timedelta(0),
            }
        )

    def compact(self) -> dict[str, Any]:
        """JSON of what differs from the defaults: a job's input in its history."""
        return self.model_dump(mode="json", exclude_defaults=True)


def spread_offset(job_id: str, span: timedelta) -> timedelta:
    """The part of `span` by which this job is moved: pseudo-random over ids, always the same for one id."""
    digest = hashlib.sha256(f"spread:{job_id}".encode()).digest()
    return span * (int.from_bytes(digest[:8], "big") / 2**64)
