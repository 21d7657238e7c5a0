"""What callers say in Python, as it goes over the wire."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from duetime.contracts import limits
from duetime.contracts.duration import Duration, format_duration
from duetime.contracts.instants import format_instant
from duetime.contracts.job import Concurrency, JobSpec, Retry
from duetime.contracts.json_value import JsonTooLarge, JsonValueError, check_json
from duetime.errors import ApiError, invalid_field, too_large

Moment = datetime | str
OnConflict = Literal["reject", "return", "replace"]
#: A JSON object: a mapping, or a model or dataclass that becomes one.
Payload = Mapping[str, Any] | BaseModel | Any


class JobFields(TypedDict, total=False):
    """The fields of a submission beside `kind` and `payload`. `None` is the same as leaving a field out.

    Durations are a `timedelta`, seconds, or text (`"90s"`, `"1h30m"`); instants an aware `datetime` or RFC 3339.
    """

    id: str | None
    queue: str | None
    run_at: Moment | None
    timezone: str | None
    delay: Duration | None
    spread: Duration | None
    priority: int | None
    fairness_key: str | None
    fairness_weight: float | None
    concurrency: Concurrency | Mapping[str, Any] | None
    retry: Retry | Mapping[str, Any] | None
    timeout: Duration | None
    lease: Duration | None
    queue_timeout: Duration | None
    deadline: Duration | None
    after: Sequence[str] | None
    tags: Sequence[str] | None
    notify: Sequence[Mapping[str, Any]] | None
    on_conflict: OnConflict | None
    reuse_id: bool | None


class ChangeFields(TypedDict, total=False):
    """What may be changed of a job that has not begun."""

    run_at: Moment | None
    timezone: str | None
    delay: Duration | None
    priority: int | None


class Filters(TypedDict, total=False):
    """Which jobs: everything given must hold. Of several `state` any, of several `tag` all."""

    state: str | Sequence[str] | None
    kind: str | None
    queue: str | None
    tag: str | Sequence[str] | None
    schedule_id: str | None
    pipeline_id: str | None
    created_after: Moment | None
    created_before: Moment | None


def new_key() -> str:
    """An Idempotency-Key for one call."""
    return secrets.token_hex(16)


def check_key(key: str | None) -> str | None:
    """An Idempotency-Key when it is one; `InvalidField` otherwise."""
    printable = key is None or (key.isascii() and key.isprintable())
    if printable and (key is None or 1 <= len(key) <= limits.IDEMPOTENCY_KEY_LENGTH):
        return key
    bound = f"1 to {limits.IDEMPOTENCY_KEY_LENGTH} printable ASCII characters"
    raise _invalid("header Idempotency-Key", f"must have {bound}")


def body_of(kind: str, payload: Payload | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A submission as JSON. `InvalidField` for what is no JSON, `TooLarge` for a payload over its bound."""
    body = {"kind": kind} | wire(fields)
    if payload is not None:
        body["payload"] = _plain(payload, "/payload")
        _check(body["payload"], "/payload", limits.PAYLOAD_BYTES)
    _check(body, "", limits.BODY_BYTES)
    return body


def body_of_spec(spec: JobSpec) -> dict[str, Any]:
    """A submission that is a model already: what was said in it, and nothing more."""
    said = {name: getattr(spec, name) for name in spec.model_fields_set if name not in ("kind", "payload")}
    return body_of(spec.kind, spec.payload or None, said)


def body_of_mapping(job: Mapping[str, Any]) -> dict[str, Any]:
    """A submission with its fields by name."""
    rest = {name: value for name, value in job.items() if name not in ("kind", "payload")}
    return body_of(job.get("kind", ""), job.get("payload"), rest)


def wire(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with their spans and instants as text; those of `None` are left out."""
    return {name: _value(value, f"/{name}") for name, value in fields.items() if value is not None}


def query_of(fields: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Fields as parameters of a query."""
    return {
        name: list(map(str, value)) if isinstance(value, list | tuple | set | frozenset) else str(value)
        for name, value in wire(fields).items()
    }


def _value(value: Any, pointer: str) -> Any:
    match value:
        case timedelta():
            return format_duration(value)
        case datetime():
            if value.utcoffset() is None:
                raise _invalid(pointer, "a datetime without a time zone is no instant: give it one")
            return format_instant(value)
        case BaseModel():
            return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
        case Mapping():
            return {name: _value(item, f"{pointer}/{name}") for name, item in value.items()}
    return _plain(value, pointer)


def _plain(value: Any, pointer: str) -> Any:
    try:
        return to_jsonable_python(value, by_alias=True)
    except (PydanticSerializationError, ValueError) as error:
        raise _invalid(pointer, f"cannot be said in JSON: {error}") from None


def _check(value: Any, pointer: str, limit: int) -> None:
    try:
        check_json(value, limit)
    except JsonTooLarge as error:
        raise too_large(f"{pointer or 'the body'}: {error}") from None
    except JsonValueError as error:
        raise _invalid(pointer + error.pointer, str(error)) from None


def _invalid(pointer: str, message: str) -> ApiError:
    """As the API says it, without asking it."""
    return invalid_field([{"pointer": pointer, "message": message}])
