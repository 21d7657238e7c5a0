"""Answers of the API, read: models from what is well, exceptions from what is not."""

import http
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from duetime.contracts.problem import PROBLEM_TYPE, ProblemView
from duetime.contracts.record import cut
from duetime.errors import ApiError, Unreachable, api_error
from duetime.retry_after import retry_after

Model = TypeVar("Model", bound=BaseModel)

#: The longest `Retry-After` that is told on.
_LONGEST = timedelta(days=1)
_SHOWN = 300


def read(model: type[Model], response: httpx2.Response) -> Model:
    """The answer as `model`; an `ApiError` when it is none, as from something that is not our API."""
    try:
        return model.model_validate_json(response.content)
    except ValidationError:
        where = str(response.request.url.copy_with(query=None))
        raise not_understood(where, response.status_code, model.__name__) from None


def not_understood(where: str, status: int, what: str) -> ApiError:
    """Something answered that is not what we know."""
    detail = f"{where} answered something that is no {what}: is this a Duetime API?"
    return ApiError(ProblemView(title="Not understood", status=status, detail=detail))


def error_of(response: httpx2.Response) -> ApiError:
    """The exception for an answer that is no success."""
    wait = retry_after(response.headers.get_list("retry-after"), datetime.now(UTC), _LONGEST)
    return api_error(_problem(response), wait)


def _problem(response: httpx2.Response) -> ProblemView:
    status = response.status_code
    try:
        return ProblemView.model_validate_json(response.content).model_copy(update={"status": status})
    except ValidationError:
        pass
    try:
        title = http.HTTPStatus(status).phrase
    except ValueError:
        title = "Unknown status"
    detail = cut(response.text.strip(), _SHOWN)
    if response.is_redirect:
        detail = (
            f"redirects to {response.headers.get('location', '?')}, which is not followed: name that address"
        )
    return ProblemView(title=title, status=status, detail=detail or title)


def unreachable(url: str, why: str, *, sent: bool) -> Unreachable:
    """No answer: `sent` tells whether the call may have reached the API."""
    detail = f"no answer from {url}: {why}"
    if sent:
        detail += "; the outcome is unknown"
    problem = {"type": f"{PROBLEM_TYPE}unreachable", "title": "No answer", "status": 0, "detail": detail}
    return Unreachable(ProblemView.model_validate({**problem, "sent": sent}))
