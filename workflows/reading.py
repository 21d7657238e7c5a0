"""What arrives at a workflow, read without ever getting stuck: bad input becomes a readable failure, not a loop."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from pydantic import ValidationError
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError, ApplicationError, RetryState
from temporalio.workflow import Info

from duetime.contracts import limits
from duetime.contracts.carry import Carry
from duetime.contracts.explain import explain, one_line
from duetime.contracts.job import JOB as JOB
from duetime.contracts.job import JobSpec
from duetime.contracts.json_value import JsonValueError, check_json, parse_json, sendable
from duetime.contracts.record import cut, read_done
from duetime.contracts.states import ErrorType
from duetime.decisions import Ended
from duetime.jobs.ended import ended_by
from workflows.raw import encoding_of


class BadJob(ValueError):
    """The input of a workflow is no job; the text says what is wrong with which field."""


def read_job(arguments: Sequence[RawValue], info: Info) -> tuple[JobSpec, Carry]:
    """The job in the workflow's one argument, and what an earlier run left; `BadJob` for anything else."""
    if info.workflow_type != JOB:
        raise BadJob(f"there is no workflow type {info.workflow_type[:100]!r} here: start {JOB!r}")
    if not 1 <= len(arguments) <= 2:
        raise BadJob(f'give the job as the one argument, as {{"kind": "noop"}}; there are {len(arguments)}')
    spec = _read_spec(arguments[0], info.workflow_id)
    if len(arguments) == 1:
        return spec, Carry.fresh()
    try:
        return spec, Carry.model_validate_json(arguments[1].payload.data)
    except ValidationError:
        raise BadJob("give the job as the one argument; the second one is Duetime's own") from None


def _read_spec(raw: RawValue, workflow_id: str) -> JobSpec:
    encoding = encoding_of(raw)
    if encoding != "json/plain":
        raise BadJob(f"the job is {encoding or 'of no encoding'}; give it as JSON (json/plain)")
    try:
        value = parse_json(raw.payload.data)
    except ValueError as error:
        raise BadJob(f"the job is not JSON: {error}") from None
    try:
        spec = JobSpec.model_validate(value)
        check_json(spec.payload, limits.PAYLOAD_BYTES)
    except ValidationError as error:
        raise BadJob(one_line(explain(error, JobSpec, value))) from None
    except JsonValueError as error:
        raise BadJob(f"/payload{error.pointer}: {error}") from None
    if spec.id is not None and spec.id != workflow_id:
        raise BadJob(f"/id: is {spec.id!r}, but the workflow's id is {workflow_id!r}: leave it out")
    return spec


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def read_result(raw: RawValue) -> Any:
    """An activity's result as JSON; `ValueError` for what is not (a foreign handler's bytes, say).

    Ours was checked by the worker, which adds its record to it. A foreign one is held to the same bounds here, since
    the workflow has to pass it on.
    """
    encoding = encoding_of(raw)
    if encoding == "binary/null":
        return None
    if not encoding.startswith("json/"):
        raise ValueError(f"the handler's result is not JSON but {encoding or 'of no encoding'}")
    try:
        value = json.loads(raw.payload.data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the handler's result is not JSON: {error}") from None
    if read_done(value) is None:
        try:
            check_json(value, limits.RESULT_BYTES)
        except JsonValueError as fault:
            raise ValueError(fault.about("the handler's result")) from None
    return value


def read_end(error: ActivityError) -> Ended:
    """The facts of an activity that did not return."""
    return ended_by(
        error.cause,
        error.identity or None,
        began=error.started_event_id > 0,
        retryable=error.retry_state is RetryState.MAXIMUM_ATTEMPTS_REACHED,
        text=str(error),
    )


def bad_job(error: Exception) -> ApplicationError:
    """Short whatever was given: a failure that the server finds too large would be tried for ever."""
    message = cut(sendable(str(error)), limits.ERROR_MESSAGE_LENGTH)
    return ApplicationError(message, type=ErrorType.INVALID_JOB, non_retryable=True)
