"""Requests read strictly: by those who may call, JSON of RFC 8259 only, of bounded size, in bounded time.

Every route made with `StrictRoute` states what it demands of its caller, and its gate stops whoever lacks it before the
body is read. A body must say `Content-Type: application/json`: a browser sends that across sites only after asking, so
no web page can submit jobs to an API on somebody's loopback interface.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from api.problems import Problem, problem_responses
from api.security.scopes import demand_of
from duetime.contracts import limits

#: For the OpenAPI document; the gate does the checking.
_KEY = HTTPBearer(
    scheme_name="key",
    description="An API key, `dt_<id>_<secret>`. Without keys the API answers this machine alone and asks for none.",
    auto_error=False,
)


class StrictRequest(Request):
    """A request whose body is bounded and whose JSON is exact."""

    limit = limits.BODY_BYTES
    #: For the whole body, in seconds.
    patience = 30.0

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            declared = self.headers.get("content-length", "")
            if declared.isascii() and declared.isdigit() and int(declared) > self.limit:
                raise _too_large(self.limit)
            self._body = await self._read()
            if self._body:
                _check_media_type(self.headers.get("content-type", ""))
        return self._body

    async def _read(self) -> bytes:
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.patience):
                async for chunk in self.stream():
                    size += len(chunk)
                    if size > self.limit:
                        raise _too_large(self.limit)
                    chunks.append(chunk)
        except TimeoutError:
            raise _too_slow(self.patience) from None
        except ClientDisconnect:
            raise _malformed("the connection ended before it did") from None  # nobody reads this
        return b"".join(chunks)

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            try:
                self._json = json.loads(await self.body(), parse_constant=_refuse_constant)
            except RecursionError:
                raise _malformed("nested too deep") from None
            except ValueError as error:
                raise _malformed(str(error)) from None
        return self._json


class StrictRoute(APIRoute):
    """A route behind its gate, that hands its endpoint a `StrictRequest`.

    `TypeError` for an endpoint that does not state what it demands (`api.security.scopes`).
    """

    request_class = StrictRequest

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.demand = demand_of(endpoint)
        if self.demand.scope is not None:
            key = Security(_KEY, scopes=[self.demand.scope.value])
            options["dependencies"] = [key, *(options.get("dependencies") or ())]
            options["responses"] = {**problem_responses(401, 403, 429), **(options.get("responses") or {})}
        super().__init__(path, endpoint, **options)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.gate.enter(self.demand, super().handle, scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            strict = self.request_class(request.scope, request.receive)
            # Read before FastAPI does, which would turn every refusal into one vague 400.
            if self.body_field is not None and await strict.body():
                await strict.json()
            return await inner(strict)

        return handle


def _check_media_type(value: str) -> None:
    media_type = value.partition(";")[0].strip().lower()
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        given = f"not {media_type!r}" if media_type else "and this request has none"
        detail = f"send the body with `Content-Type: application/json`, {given}"
        raise Problem(415, "not-json", "Unsupported media type", detail)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _malformed(why: str) -> Problem:
    return Problem(400, "malformed", "Malformed JSON", f"the body is not JSON: {why}")


def _too_slow(seconds: float) -> Problem:
    detail = f"the body did not come within {seconds:g} s"
    return Problem(408, "too-slow", "Too slow", detail, headers={"Connection": "close"})


def _too_large(limit: int) -> Problem:
    return Problem(413, "too-large", "Too large", f"the body is over its bound of {limit:,} bytes")
