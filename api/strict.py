"""Requests read strictly: JSON of RFC 8259 only, of bounded size, declared as such.

A body must say `Content-Type: application/json`: a browser sends that across sites only after asking, so no web page
can submit jobs to an API on somebody's loopback interface.
"""

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.problems import Problem
from duetime.contracts import limits


class StrictRequest(Request):
    """A request whose body is bounded and whose JSON is exact."""

    limit = limits.BODY_BYTES

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            declared = self.headers.get("content-length", "")
            if declared.isascii() and declared.isdigit() and int(declared) > self.limit:
                raise _too_large(self.limit)
            chunks: list[bytes] = []
            size = 0
            async for chunk in self.stream():
                size += len(chunk)
                if size > self.limit:
                    raise _too_large(self.limit)
                chunks.append(chunk)
            self._body = b"".join(chunks)
            if self._body:
                _check_media_type(self.headers.get("content-type", ""))
        return self._body

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
    """A route that hands its endpoint a `StrictRequest`."""

    request_class = StrictRequest

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


def _too_large(limit: int) -> Problem:
    return Problem(413, "too-large", "Too large", f"the body is over its bound of {limit:,} bytes")
