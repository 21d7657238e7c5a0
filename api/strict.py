"""Requests read strictly: by those who may call, JSON of RFC 8259 only, of bounded size and time, and no parameter that
means nothing.

Every route made with `StrictRoute` states what it demands of its caller, and its gate stops whoever lacks it before the
body is read. A body must say `Content-Type: application/json`: a browser sends that across sites only after asking, so
no web page can submit jobs to an API on somebody's loopback interface.
"""

import asyncio
import difflib
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, get_args, get_origin

from fastapi import Request, Response, Security
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.convertors import PathConvertor
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from api.problems import Problem, invalid, problem_responses
from api.security.scopes import demand_of
from duetime.contracts import limits
from duetime.contracts.explain import FAULTS, Fault, bounded
from duetime.contracts.json_value import parse_json

#: For the OpenAPI document; the gate does the checking.
_KEY = HTTPBearer(
    scheme_name="key",
    description="An API key, `dt_<id>_<secret>`. Without keys the API answers this machine alone and asks for none.",
    auto_error=False,
)


class StrictRequest(Request):
    """A request whose body is bounded and whose JSON is exact."""

    limit = limits.BODY_BYTES
    #: Seconds in which the whole body must arrive.
    patience = 30.0

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            declared = self.headers.get("content-length", "")
            if declared.isascii() and declared.isdigit() and int(declared) > self.limit:
                raise _too_large(self.limit)
            try:
                async with asyncio.timeout(self.patience):
                    self._body = await self._bounded()
            except TimeoutError:
                detail = f"the body did not arrive within {self.patience:.0f} seconds"
                raise Problem(408, "too-slow", "Too slow", detail, headers={"Connection": "close"}) from None
            if self._body:
                _check_media_type(self.headers.get("content-type", ""))
        return self._body

    async def _bounded(self) -> bytes:
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > self.limit:
                raise _too_large(self.limit)
            chunks.append(chunk)
        return b"".join(chunks)

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            try:
                self._json = parse_json(await self.body())
            except ValueError as error:
                raise Problem(
                    400, "malformed", "Malformed JSON", f"the body is not the JSON it must be: {error}"
                ) from None
        return self._json


class StrictRoute(APIRoute):
    """A route behind its gate, that hands its endpoint a `StrictRequest`.

    `TypeError` for an endpoint that does not state what it demands (`api.security.scopes`).
    """

    request_class = StrictRequest
    #: Whether a parameter that means nothing is refused.
    refuses_unknown = True

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.demand = demand_of(endpoint)
        if self.demand.scope is not None:
            key = Security(_KEY, scopes=[self.demand.scope.value])
            options["dependencies"] = [key, *(options.get("dependencies") or ())]
            options["responses"] = {**problem_responses(401, 403, 429), **(options.get("responses") or {})}
        super().__init__(path, endpoint, **options)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """An escaped slash (RFC 3986, 2.2) is a part of an id, which none has, and never leads to another route:
        `/v1/jobs/x%2Fwhy` asks for a job."""
        takes_slashes = any(isinstance(one, PathConvertor) for one in self.param_convertors.values())
        if not takes_slashes and b"%2f" in (scope.get("raw_path") or b"").lower():
            return Match.NONE, {}
        return super().matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.gate.enter(self.demand, super().handle, scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()
        known = dict(sorted(_query_names(self.dependant)))
        # One that a command does not take is refused; what comes with a GET means nothing (RFC 9110, 9.3.1).
        reads_body = self.body_field is not None or not {"GET", "HEAD"}.issuperset(self.methods or ())

        async def handle(request: Request) -> Response:
            strict = self.request_class(request.scope, request.receive)
            if self.refuses_unknown:
                _check_query(strict.query_params, known)
            try:
                # Read before FastAPI does, which would turn every refusal into one vague 400.
                if reads_body and await strict.body():
                    given = await strict.json()
                    if self.body_field is None and given not in (None, {}):
                        raise invalid([{"pointer": "", "message": "this call takes no body: leave it out"}])
            except ClientDisconnect:
                return Response(status_code=400)  # Nobody is there to read it.
            return await inner(strict)

        return handle


def _query_names(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Every name that the route reads from the query, its dependencies and parameter models included, and whether it
    may be given more than once."""
    for parameter in dependant.query_params:
        model = parameter.field_info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            for name, field in model.model_fields.items():
                yield field.alias or name, _takes_many(field.annotation)
        else:
            yield parameter.alias, _takes_many(model)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def _takes_many(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_takes_many, get_args(annotation)))


def _check_query(given: QueryParams, known: Mapping[str, bool]) -> None:
    """A `422` problem for parameters that mean nothing, and for a second value where one is meant: a filter with a
    typing error would hold too much, and of two values no one could say which counts."""
    names = Counter(name for name, _ in given.multi_items())
    wrong = [name for name, times in names.items() if name not in known or (times > 1 and not known[name])]
    if wrong:
        faults: list[Fault] = [
            {"pointer": f"query {name[:100]}", "message": _meaningless(name, list(known))}
            for name in wrong[:FAULTS]
        ]
        raise invalid(bounded(faults, len(wrong)))


def _meaningless(name: str, known: list[str]) -> str:
    if name in known:
        return "is given more than once"
    if nearest := difflib.get_close_matches(name, known, n=1, cutoff=0.5):
        return f"unknown parameter; did you mean `{nearest[0]}`?"
    return f"unknown parameter; known are {', '.join(known)}" if known else "this call takes no parameters"


def _check_media_type(value: str) -> None:
    media_type = value.partition(";")[0].strip().lower()
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        given = f"not {media_type[:100]!r}" if media_type else "and this request has none"
        detail = f"send the body with `Content-Type: application/json`, {given}"
        raise Problem(415, "not-json", "Unsupported media type", detail)


def _too_large(limit: int) -> Problem:
    return Problem(413, "too-large", "Too large", f"the body is over its bound of {limit:,} bytes")
