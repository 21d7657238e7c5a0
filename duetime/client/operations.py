"""The part of the client that acts on many jobs at once."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any, Literal, Unpack
from urllib.parse import quote

from duetime.client.answer import read
from duetime.client.call import Call, Repeat
from duetime.client.fields import Filters, check_key, new_key, wire
from duetime.client.sender import Sender
from duetime.client.waiting import span
from duetime.contracts.bulk import ENDED, OperationState
from duetime.contracts.duration import Duration
from duetime.contracts.operations import OperationList, OperationView
from duetime.errors import OperationWaitTimeout

_FIRST_LOOK, _LONGEST_LOOK_AWAY = 0.2, 2.0


class OperationCalls:
    """Redrives and cancellations of every job that a filter holds."""

    _sender: Sender

    async def retry_many(
        self,
        *,
        dry_run: bool = False,
        rate: float | None = None,
        canary: int | None = None,
        begin: Literal["start", "checkpoint"] | None = None,
        force: bool | None = None,
        idempotency_key: str | None = None,
        **which: Unpack[Filters],
    ) -> OperationView:
        """Redrives every job that the filters hold; without a `state`, those that failed or expired.

        `dry_run` keeps which jobs these are and tells what they are; `run_operation` then carries out exactly that.
        `rate` is jobs a second, `canary` how many must run again and succeed before the others may.
        """
        how = {"from": begin, "force": force, "rate": rate, "canary": canary, "dry_run": dry_run or None}
        return await self._begin("retry", how, which, idempotency_key)

    async def cancel_many(
        self,
        *,
        dry_run: bool = False,
        rate: float | None = None,
        mode: Literal["graceful", "force"] | None = None,
        grace: Duration | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
        **which: Unpack[Filters],
    ) -> OperationView:
        """Cancels every open job that the filters hold. `dry_run` and `rate` are those of `retry_many`."""
        how = {"mode": mode, "grace": grace, "reason": reason, "rate": rate, "dry_run": dry_run or None}
        return await self._begin("cancel", how, which, idempotency_key)

    async def _begin(
        self, action: str, how: dict[str, Any], which: Filters, key: str | None
    ) -> OperationView:
        body = wire(how) | {"filter": wire(which)}
        call = Call("POST", f"/v1/jobs:{action}", body=body, key=check_key(key) or new_key())
        return await self._operation(call)

    async def operation(self, operation_id: str) -> OperationView:
        """How an operation stands."""
        return await self._operation(Call("GET", _path(operation_id)))

    async def operations(self, *, page_size: int = 20) -> AsyncGenerator[OperationView]:
        """All operations that the server keeps: those under way first, then the last that ended."""
        cursor: str | None = None
        while True:
            query = {"limit": str(page_size)} | ({"cursor": cursor} if cursor else {})
            page = read(OperationList, await self._sender.send(Call("GET", "/v1/operations", query=query)))
            for operation in page.operations:
                yield operation
            cursor = page.next_cursor
            if cursor is None:
                return

    async def run_operation(
        self, operation_id: str, *, rate: float | None = None, canary: int | None = None
    ) -> OperationView:
        """Carries out what a dry run kept; `WrongState` for what is not frozen (any more).

        Not sent again if it may have been done."""
        body = wire({"rate": rate, "canary": canary})
        call = Call("POST", _path(operation_id, ":run"), body=body, repeat=Repeat.IF_NOT_DONE)
        return await self._operation(call)

    async def stop_operation(self, operation_id: str, *, reason: str | None = None) -> OperationView:
        """Leaves alone the jobs that have not had their turn. What has begun goes on."""
        return await self._operation(
            Call("POST", _path(operation_id, ":stop"), body=wire({"reason": reason}))
        )

    async def wait_for_operation(
        self, operation_id: str, wait: Duration | None = None, *, until_frozen: bool = False
    ) -> OperationView:
        """The operation once it is over, however it ended; `OperationWaitTimeout` when it is not after `wait` (`None`:
        for ever). With `until_frozen` the set of a dry run is waited for, and no longer."""
        until = None if wait is None else time.monotonic() + span("wait", wait).total_seconds()
        pause = _FIRST_LOOK
        while True:
            operation = await self.operation(operation_id)
            if operation.state in ENDED or (until_frozen and operation.state is OperationState.FROZEN):
                return operation
            if until is not None and time.monotonic() + pause > until:
                raise OperationWaitTimeout(operation)
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_LOOK_AWAY)

    async def _operation(self, call: Call) -> OperationView:
        return read(OperationView, await self._sender.send(call))


def _path(operation_id: str, rest: str = "") -> str:
    return f"/v1/operations/{quote(operation_id, safe=':~')}{rest}"
