"""What arrives at a workflow, read without ever getting stuck: bad input becomes a readable failure, not a loop."""

import json
from typing import Any, NoReturn

from pydantic import ValidationError
from temporalio.common import RawValue
from temporalio.converter import PayloadConverter
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutError, TimeoutType

from duetime.contracts import limits
from duetime.contracts.explain import explain, one_line
from duetime.contracts.job import JobSpec
from duetime.contracts.json_value import JsonValueError, check_json
from duetime.contracts.record import read_sign
from duetime.contracts.states import ErrorType
from workflows.decisions import Ended, How


class BadJob(ValueError):
    """The input of a workflow is no job; the text says what is wrong with which field."""


def read_job(raw: RawValue | None, workflow_id: str) -> JobSpec:
    """The job in the workflow's one argument; `BadJob` for anything else."""
    if raw is None:
        raise BadJob('give the job as the one argument, as {"kind": "noop"}')
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


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def read_result(raw: RawValue, converter: PayloadConverter) -> Any:
    """An activity's result as JSON; `ValueError` for what is not (a foreign handler's bytes, say)."""
    encoding = raw.payload.metadata.get("encoding", b"").decode("ascii", "replace")
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
