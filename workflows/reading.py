"""What arrives at a workflow, read without ever getting stuck: bad input becomes a readable failure, not a loop."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from pydantic import ValidationError
from temporalio.common import RawValue
from temporalio.converter import PayloadConverter
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutError, TimeoutType
from temporalio.workflow import Info

from duetime.contracts import limits
from duetime.contracts.explain import explain, one_line
from duetime.contracts.job import JobSpec
from duetime.contracts.json_value import JsonValueError, check_json
from duetime.contracts.record import read_sign
from duetime.contracts.states import ErrorType
from workflows.carry import Carry
from workflows.decisions import Ended, How


class BadJob(ValueError):
    """The input of a workflow is no job; the text says what is wrong with which field."""


#: The one workflow type that this is.
JOB = "Job"


def read_job(arguments: Sequence[RawValue], info: Info) -> tuple[JobSpec, Carry]:
    """The job in the workflow's one argument, and what an earlier run left; `BadJob` for anything else."""
    if info.workflow_type != JOB:
        raise BadJob(f"there is no workflow type {info.workflow_type[:100]!r} here: start {JOB!r}")
    if not 1 <= len(arguments) <= 2:
        raise BadJob(f'give the job as the one argument, as {{"kind": "noop"}}; there are {len(arguments)}')
    spec = _read_spec(arguments[0], info.workflow_id)
    if len(arguments) == 1:
        return spec, Carry()
    try:
        return spec, Carry.model_validate_json(arguments[1].payload.data)
    except ValidationError:
        raise BadJob("give the job as the one argument; the second one is Duetime's own") from None


def _read_spec(raw: RawValue, workflow_id: str) -> JobSpec:
    encoding = _encoding(raw)
    if encoding != "json/plain":
        raise BadJob(f"the job is {encoding or 'of no encoding'}; give it as JSON (json/plain)")
    try:
        value = json.loads(raw.payload.data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadJob(f"the job is not JSON: {error}") from None
    try:
        spec = JobSpec.model_validate(value)
        check_json(spec.payload, limits.PAYLOAD_BYTES)
    except ValidationError as error:
        raise BadJob(one_line(explain(error, JobSpec))) from None
    except JsonValueError as error:
        raise BadJob(f"/payload{error.pointer}: {error}") from None
    if spec.id is not None and spec.id != workflow_id:
        raise BadJob(f"/id: is {spec.id!r}, but the workflow's id is {workflow_id!r}: leave it out")
    return spec


def _encoding(raw: RawValue) -> str:
    return raw.payload.metadata.get("encoding", b"").decode("ascii", "replace")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def read_result(raw: RawValue, converter: PayloadConverter) -> Any:
    """An activity's result as JSON; `ValueError` for what is not (a foreign handler's bytes, say)."""
    encoding = _encoding(raw)
    if encoding == "binary/null":
        return None
    if not encoding.startswith("json/"):
        raise ValueError(f"the handler's result is not JSON but {encoding or 'of no encoding'}")
    return converter.from_payload(raw.payload)


def read_end(error: ActivityError) -> Ended:
    """The facts of an activity that did not return."""
    cause = error.cause
    if isinstance(cause, ApplicationError):
        sign = read_sign(cause.details)
        return Ended(How.FAILED, cause.type or "", cause.message, sign)
    if isinstance(cause, TimeoutError):
        how = {
            TimeoutType.HEARTBEAT: How.LEASE_LOST,
            TimeoutType.SCHEDULE_TO_START: How.NOT_STARTED,
        }.get(cause.type or TimeoutType.START_TO_CLOSE, How.TIMED_OUT)
        return Ended(how, sign=read_sign(cause.last_heartbeat_details))
    if isinstance(cause, CancelledError):
        return Ended(How.CANCELLED, sign=read_sign(cause.details))
    return Ended(How.FAILED, type(cause).__name__, str(cause or error))


def bad_job(error: Exception) -> ApplicationError:
    return ApplicationError(str(error), type=ErrorType.INVALID_JOB, non_retryable=True)
