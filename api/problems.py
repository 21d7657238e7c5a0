"""Errors on the wire: RFC 9457 `application/problem+json`, whatever went wrong."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.explain import FAULTS, Fault, bounded, explain_one
from duetime.contracts.json_value import JsonTooLarge
from duetime.contracts.problem import PROBLEM_TYPE
from duetime.contracts.record import cut

_COMMAND = re.compile(r":([a-z-]+)$")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

log = logging.getLogger("duetime.api")

MEDIA_TYPE = "application/problem+json"


#: For the OpenAPI document, by component.
PROBLEM_SCHEMAS: dict[str, Any] = {
    "Fault": {
        "type": "object",
        "description": "One bad field.",
        "required": ["pointer", "message"],
        "properties": {
            "pointer": {
                "type": "string",
                "description": "a JSON pointer (RFC 6901) into the body, or `header`, `query` or `path` and a name",
            },
            "message": {"type": "string"},
            "column": {
                "type": "integer",
                "minimum": 1,
                "description": "of a cron line: the character at fault, counted from 1",
            },
        },
    },
    "Problem": {
        "type": "object",
        "description": "RFC 9457: what went wrong, and the way out. Some types have more members: `job`, `state`, "
        "`reason`.",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "format": "uri", "description": f"begins with `{PROBLEM_TYPE}`"},
            "title": {"type": "string"},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string", "description": "for people; do not parse it"},
            "errors": {"type": "array", "items": {"$ref": "#/components/schemas/Fault"}},
        },
        "examples": [
            {
                "type": "urn:duetime:problem:invalid",
                "title": "Invalid field",
                "status": 422,
                "detail": "/dealy: unknown field; did you mean `delay`?",
                "errors": [{"pointer": "/dealy", "message": "unknown field; did you mean `delay`?"}],
            }
        ],
    },
}


class Problem(Exception):
    """A refusal. `name` is the stable last part of its `type`; `extra` are further members of the body."""

    def __init__(
        self,
        status: int,
        name: str,
        title: str,
        detail: str,
        *,
        errors: list[Fault] | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.name, self.title, self.detail = status, name, title, detail
        self.errors, self.headers, self.extra = errors, dict(headers or {}), dict(extra or {})

    def body(self) -> dict[str, Any]:
        errors = {"errors": self.errors} if self.errors else {}
        return {
            "type": PROBLEM_TYPE + self.name,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **errors,
            **self.extra,
        }

    def response(self) -> JSONResponse:
        return JSONResponse(self.body(), self.status, headers=self.headers, media_type=MEDIA_TYPE)


def invalid(faults: list[Fault]) -> Problem:
    """Bad fields: `422` with a pointer for each."""
    detail = "; ".join(f"{fault['pointer'] or 'the body'}: {fault['message']}" for fault in faults)
    return Problem(422, "invalid", "Invalid field", detail[:2000], errors=faults)


def too_large(what: str, size: int, limit: int) -> Problem:
    """Over a bound in bytes: `413`."""
    return Problem(413, "too-large", "Too large", f"{what} has {size:,} bytes; its bound is {limit:,}")


def unknown(detail: str) -> Problem:
    """Nobody knows what was asked for: `404`."""
    return Problem(404, "not-found", "Not found", detail)


def unavailable(detail: str, reason: str = "temporal_unreachable", retry_after: int = 1) -> Problem:
    """Something behind the API does not answer: `503`. The outcome of a command may be unknown."""
    return Problem(
        503,
        reason.replace("_", "-"),
        "Temporarily unavailable",
        detail,
        headers={"Retry-After": str(retry_after)},
        extra={"reason": reason},
    )


def from_rpc(error: RPCError) -> Problem:
    """What an answer of Temporal's frontend means to a caller of ours."""
    match error.status:
        case RPCStatusCode.NOT_FOUND if is_unknown_id(error):
            return unknown("nothing is known under this id")
        case RPCStatusCode.NOT_FOUND:
            detail = f"{error.message[:300]} Create it, or set DUETIME_TEMPORAL_NAMESPACE"
            return unavailable(detail, "namespace_missing", retry_after=10)
        case RPCStatusCode.RESOURCE_EXHAUSTED:
            return unavailable("Temporal is at its limits; repeat with the same id or key", "temporal_busy")
        case RPCStatusCode.INVALID_ARGUMENT if "no mapping defined for search attribute" in error.message:
            detail = (
                "the namespace lacks the search attributes of jobs; a worker adds them when it starts "
                "(`python worker.py`)"
            )
            return unavailable(detail, "namespace_unprepared", retry_after=10)
        case RPCStatusCode.PERMISSION_DENIED | RPCStatusCode.UNAUTHENTICATED:
            detail = "the Temporal server refuses this API's credentials; its operators can mend that"
            return unavailable(detail, "temporal_refuses", retry_after=10)
        case RPCStatusCode.INVALID_ARGUMENT:
            return Problem(422, "refused", "Refused by Temporal", cut(error.message, 500))
    return unavailable(
        "Temporal cannot be reached; the outcome may be unknown: repeat with the same id or Idempotency-Key"
    )


def unreached() -> Problem:
    """No connection to Temporal could be made."""
    return unavailable("Temporal cannot be reached; nothing was done")


def is_no_connection(error: RuntimeError) -> bool:
    """Whether it is the SDK's when a connection that was never made cannot be made now."""
    return str(error).startswith("Failed client connect")


def is_unknown_id(error: RPCError) -> bool:
    """Whether the server says that it has no execution of that id; it also says so of namespaces."""
    details = error.grpc_status.details
    about_namespace = any(detail.type_url.endswith("NamespaceNotFoundFailure") for detail in details)
    return error.status is RPCStatusCode.NOT_FOUND and not about_namespace


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for these statuses, all problem documents. What reading a request may answer is added anyway."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _TITLES[status], "content": content} for status in statuses}


_TITLES = {
    400: "Malformed request",
    401: "No or wrong key",
    403: "Not allowed",
    404: "Unknown id",
    405: "Method not allowed",
    406: "Not acceptable",
    408: "Too slow",
    409: "Conflict of state",
    412: "Stale token",
    413: "Too large",
    414: "URI too long",
    415: "Not JSON",
    422: "Invalid field",
    429: "Too many requests",
    431: "Headers too large",
    503: "Temporal cannot be reached",
}


def install(app: FastAPI) -> None:
    """Makes every error of `app` a problem document."""

    @app.exception_handler(Problem)
    async def problem(_: Request, error: Problem) -> JSONResponse:
        return error.response()

    @app.exception_handler(RPCError)
    async def rpc(_: Request, error: RPCError) -> JSONResponse:
        return from_rpc(error).response()

    @app.exception_handler(RuntimeError)
    async def runtime(_: Request, error: RuntimeError) -> JSONResponse:
        if is_no_connection(error):
            return unreached().response()
        raise error

    @app.exception_handler(RequestValidationError)
    async def validation(request: Request, error: RequestValidationError) -> JSONResponse:
        for detail in error.errors():
            cause = detail.get("ctx", {}).get("error")
            if isinstance(cause, JsonTooLarge):
                return too_large("the payload", cause.size, cause.limit).response()
        return invalid(_request_faults(request, error)).response()

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404:
            slashed = b"%2f" in (request.scope.get("raw_path") or b"").lower()
            why = "no id holds a slash, nor any name but a kind's" if slashed else "/docs shows what there is"
            return unknown(f"there is nothing at this path; {why}").response()
        if error.status_code == 405:
            return _not_allowed(request).response()
        detail = str(error.detail)
        return Problem(error.status_code, "http", detail, detail, headers=error.headers).response()

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        log.error("unexpected error at %s %s", request.method, request.url.path, exc_info=error)
        return Problem(500, "internal", "Internal error", "this is a fault of ours; it was logged").response()


def _not_allowed(request: Request) -> Problem:
    """`405` with all methods of this path, whichever route they are of."""

    def serves(method: str) -> bool:
        scope = {**request.scope, "method": "GET" if method == "HEAD" else method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    allowed = ", ".join(method for method in _METHODS if serves(method))
    detail = f"{request.method[:20]} does nothing here; this path takes {allowed}"
    if commands := _commands(request):
        detail += f", and with POST {', '.join(f'`:{command}`' for command in commands)} behind it"
    return Problem(
        405, "method-not-allowed", "Method not allowed", detail, headers={"Allow": allowed} if allowed else {}
    )


def _commands(request: Request) -> list[str]:
    """The commands that the path takes; a last part of it that is none is taken for a misspelt one."""
    path = str(request.scope["path"])
    if request.method == "POST" and ":" in path.rpartition("/")[2]:
        path = path.rpartition(":")[0]
    ends = (_COMMAND.search(told) for told in _paths(request.app.routes))

    def serves(command: str) -> bool:
        scope = {**request.scope, "method": "POST", "path": f"{path}:{command}"}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    return [command for command in sorted({end[1] for end in ends if end}) if serves(command)]


def _paths(routes: Iterable[Any]) -> Iterator[str]:
    """The paths of routes, those of included routers without what these are included under."""
    for route in routes:
        router = getattr(route, "original_router", None)
        if router is not None:
            yield from _paths(router.routes)
        else:
            yield getattr(route, "path", "")


def _request_faults(request: Request, error: RequestValidationError) -> list[Fault]:
    """Faults of a request: pointers into the body, names for headers and parameters."""
    found: list[Fault] = []
    details = error.errors()
    for detail in details[:FAULTS]:
        place, *steps = detail["loc"]
        model, body = (_body_model(request), error.body) if place == "body" else (None, None)
        fault = explain_one({**detail, "loc": tuple(steps)}, model, body)
        if place != "body":
            name = ".".join(map(str, steps))
            name = name.title() if place == "header" else name
            fault = {"pointer": cut(f"{place} {name}", 200), "message": fault["message"]}
        found.append(fault)
    return bounded(found, len(details))


def _body_model(request: Request) -> type[BaseModel] | None:
    field = getattr(request.scope.get("route"), "body_field", None)
    kind = getattr(getattr(field, "field_info", None), "annotation", None)
    # That, or a model among several: a body that may be left out.
    found = [one for one in (kind, *get_args(kind)) if isinstance(one, type) and issubclass(one, BaseModel)]
    return found[0] if len(found) == 1 else None
