"""From a job of a pipeline, or an item of it, to the child workflow that runs it."""

from datetime import datetime
from typing import Any

from duetime.contracts import limits
from duetime.contracts.carry import Carry
from duetime.contracts.job import JOB, JobSpec
from duetime.contracts.json_value import JsonTooLarge, JsonValueError, check_json, sendable
from duetime.contracts.pipeline import PipelineJob
from duetime.contracts.record import Error, Record, cut
from duetime.contracts.references import BadReference
from duetime.contracts.states import ErrorType
from workflows.children import Planned
from workflows.pipeline_input import Origin
from workflows.room import JOB_RETURNS


class Unfit(Exception):
    """A job that cannot begin, and why."""

    def __init__(self, error: Error) -> None:
        self.error = error
        super().__init__(error.message)


def unfit(kind: ErrorType, message: str) -> Unfit:
    return Unfit(Error(type=kind, message=cut(sendable(message), limits.PIPELINE_FAULT_LENGTH)))


def plan_job(
    job: PipelineJob, payload: Any, child_id: str, origin: Origin, now: datetime, token_floor: int = 0
) -> Planned:
    """The child for a job with this payload; `Unfit` when it is none, or too large."""
    if not isinstance(payload, dict):
        raise unfit(ErrorType.INVALID_PAYLOAD, f"the payload came to {_kind(payload)}; it must be an object")
    _check_size(payload, limits.JSON_DEPTH)
    spec: JobSpec = job.job(payload)
    try:
        due_at = spec.due_at(child_id, now)
    except ValueError as error:
        raise unfit(ErrorType.INVALID_JOB, f"the time to run is {error}") from None
    told = {
        "record": Record(token_floor=token_floor),
        "idempotency_key": f"{child_id}:{origin.run_id}",
        "schedule_id": origin.schedule_id,
        "pipeline_id": origin.pipeline_id,
    }
    carry = Carry.fresh().model_copy(update=told)
    found = origin.attributes_of(spec, due_at)
    given = [spec.compact(), carry.compact()]
    return Planned(JOB, child_id, given, found, spec.priority, summary(child_id, spec.kind), JOB_RETURNS)


def summary(child_id: str, what: str) -> str:
    """What Temporal's Web UI shows of a child: its name in the pipeline, or which item it is, and what it runs."""
    return f"{child_id.rpartition('~')[2]}: {what}"


def _check_size(value: Any, depth: int) -> None:
    try:
        check_json(value, limits.PAYLOAD_BYTES, depth)
    except JsonTooLarge as error:
        way_out = "store large results elsewhere and return where they are"
        message = f"the payload, with the results in it, has {error}: {way_out}"
        raise unfit(ErrorType.INVALID_PAYLOAD, message) from None
    except JsonValueError as error:
        raise unfit(ErrorType.INVALID_PAYLOAD, error.about("the payload, with the results in it")) from None


def checked_values(values: dict[str, Any]) -> dict[str, Any]:
    """Results that the payload of every item refers to; `Unfit` when no payload could hold them."""
    _check_size(values, limits.JSON_DEPTH + 1)
    return values


def bad_reference(error: BadReference) -> Unfit:
    return unfit(ErrorType.INVALID_REFERENCE, str(error))


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return "an object"


def checked_items(value: Any) -> list[Any]:
    """What `for_each` came to, as a list that can be run; `Unfit` for anything else."""
    if not isinstance(value, list):
        raise unfit(ErrorType.INVALID_REFERENCE, f"`for_each` came to {_kind(value)}; it must be a list")
    if len(value) > limits.ITEMS:
        raise unfit(
            ErrorType.INVALID_REFERENCE, f"`for_each` has {len(value):,} items; at most {limits.ITEMS:,}"
        )
    try:
        check_json(value, limits.ITEMS_BYTES)
    except JsonValueError as error:
        raise unfit(ErrorType.INVALID_REFERENCE, error.about("the list of `for_each`")) from None
    return value
