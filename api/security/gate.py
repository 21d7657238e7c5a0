"""The gate of a route: who calls, how often, and whether for this. All of it before a byte of the body is read."""

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from api.problems import Problem
from api.security.caller import Caller, WhoCalls
from api.security.lock import Lock
from api.security.rates import Rates, Waits
from api.security.scopes import Demand, Scope

log = logging.getLogger("duetime.audit")


@dataclass(frozen=True)
class Gate:
    """What stands before every route of one app."""

    lock: Lock
    rates: Rates
    waits: Waits

    async def enter(
        self, demand: Demand, route: ASGIApp, connection: Connection, receive: Receive, send: Send
    ) -> None:
        """Runs `route` when the caller may pass, with the caller in the request's state; a problem otherwise."""
        if demand.scope is None:
            await route(connection, receive, send)
            return
        caller = self.lock.caller(connection["headers"])
        allowance = self.rates.take(caller)
        headers = allowance.headers if allowance else {}
        answer = _Answer(send, headers)
        try:
            check(demand, caller, headers)
            connection.setdefault("state", {})["caller"] = caller
            with self.waits.hold(caller) if demand.holds else nullcontext():
                await route(connection, receive, answer)
        except Problem as refused:
            answer.status = refused.status
            raise
        finally:
            if demand.scope in (Scope.OPERATE, Scope.ADMIN):
                _note(connection, answer.status, caller)


def check(demand: Demand, caller: Caller, headers: Mapping[str, str] | None = None) -> None:
    """Passes when `caller` has what is demanded; a `403` problem that says what is missing otherwise."""
    assert demand.scope is not None
    if not caller.may(demand.scope):
        challenge = f'Bearer realm="duetime", error="insufficient_scope", scope="{demand.scope}"'
        has = ", ".join(sorted(caller.scopes))
        detail = f"this takes a key with the scope `{demand.scope}`; yours has {has}"
        raise _refused(detail, {"WWW-Authenticate": challenge, **(headers or {})})
    if demand.covers_all and caller.is_bound:
        detail = "this covers all queues and kinds, and your key is bound to some"
        raise _refused(detail, headers)


async def charge_of(request: Request, caller: WhoCalls) -> Callable[[int], None]:
    """For routes that do many things in one call: `charge(n)` counts `n` calls more against the caller's rate."""
    gate = request.app.state.gate
    assert isinstance(gate, Gate)
    return lambda calls: gate.rates.charge(caller, calls)


Charge = Annotated[Callable[[int], None], Depends(charge_of)]


class _Answer:
    """`send` of ASGI, with headers added, and the status remembered."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message).update(self._headers)
        await self._send(message)


def _refused(detail: str, headers: Mapping[str, str] | None) -> Problem:
    return Problem(403, "not-allowed", "Not allowed", detail, headers=headers)


def _note(connection: Connection, status: int | None, caller: Caller) -> None:
    """Who did what. The path as it was sent, so that nobody writes lines of their own into the log."""
    path = connection.get("raw_path", b"").decode("ascii", "replace")
    log.info("%s %s %s by %s", connection["method"], path, status or "without an answer", caller)
