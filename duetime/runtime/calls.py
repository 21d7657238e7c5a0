"""The three things a worker tells the server about an attempt, each as one acknowledged call by task token.

Not through the SDK's own `activity.heartbeat` and completion, for two reasons. The SDK sends heartbeats on its own
schedule and repeats them, so that one with an older checkpoint can reach the server after a newer one that was
acknowledged already; and it only logs when a completion is refused. One call at a time, tried once with a bound on its
time, leaves nothing to arrive late and tells every answer to who asked.
"""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.activity import ActivityCancellationDetails
from temporalio.api.common.v1 import Payloads
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflowservice.v1 import (
    RecordActivityTaskHeartbeatRequest,
    RespondActivityTaskCompletedRequest,
    RespondActivityTaskFailedRequest,
)
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.service import RPCError, RPCStatusCode

Answer = TypeVar("Answer")


class AttemptCalls:
    """Calls about one attempt. `RPCError` when there is no answer in time, or none that is good.

    `NOT_FOUND` is the one refusal that says: this attempt is not the job's current one any more.
    """

    def __init__(self, client: Client, task_token: bytes) -> None:
        self._client = client
        self._about: dict[str, Any] = {
            "task_token": task_token,
            "namespace": client.namespace,
            "identity": client.service_client.config.identity or client.identity,
        }

    async def heartbeat(self, details: Any, rpc_timeout: timedelta) -> None:
        """A sign of life with `details`; `AsyncActivityCancelledError` when the server wants the attempt to end."""
        request = RecordActivityTaskHeartbeatRequest(**self._about, details=await self._encoded(details))
        answer = await _in_time(
            self._client.workflow_service.record_activity_task_heartbeat(request, timeout=rpc_timeout),
            rpc_timeout,
        )
        if answer.cancel_requested or answer.activity_paused or answer.activity_reset:
            raise AsyncActivityCancelledError(
                ActivityCancellationDetails(
                    cancel_requested=answer.cancel_requested,
                    paused=answer.activity_paused,
                    reset=answer.activity_reset,
                )
            )

    async def complete(self, result: Any, rpc_timeout: timedelta) -> None:
        """The attempt is done, with `result`."""
        request = RespondActivityTaskCompletedRequest(**self._about, result=await self._encoded(result))
        await _in_time(
            self._client.workflow_service.respond_activity_task_completed(request, timeout=rpc_timeout),
            rpc_timeout,
        )

    async def fail(self, error: BaseException, details: Any, rpc_timeout: timedelta) -> None:
        """The attempt failed; `details`, unless `None`, are kept for the next one like those of a heartbeat."""
        failure = Failure()
        await self._client.data_converter.encode_failure(error, failure)
        request = RespondActivityTaskFailedRequest(
            **self._about,
            failure=failure,
            last_heartbeat_details=None if details is None else await self._encoded(details),
        )
        await _in_time(
            self._client.workflow_service.respond_activity_task_failed(request, timeout=rpc_timeout),
            rpc_timeout,
        )

    async def _encoded(self, value: Any) -> Payloads:
        return Payloads(payloads=await self._client.data_converter.encode([value]))


async def _in_time(call: Awaitable[Answer], limit: timedelta) -> Answer:
    """The deadline that goes along with a call does not count the time it waits for a connection."""
    try:
        async with asyncio.timeout(limit.total_seconds()):
            return await call
    except TimeoutError:
        raise RPCError("no answer in time", RPCStatusCode.DEADLINE_EXCEEDED, b"") from None
