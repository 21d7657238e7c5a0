"""Cancelling: what no attempt holds ends at once, by the server alone; a running handler is told."""

import asyncio
import logging
from datetime import UTC, datetime

from temporalio.client import Client

from duetime.contracts.carry import StopRequest
from duetime.contracts.concurrency import ALL_ASKS, LEAVE, Left, chain_of
from duetime.contracts.record import Ending
from duetime.contracts.requests import CancelRequest
from duetime.contracts.states import State
from duetime.jobs.dependents import dependents_of
from duetime.jobs.facts import Facts
from duetime.jobs.names import PREDECESSOR
from duetime.jobs.state import record_of, state_of

log = logging.getLogger("duetime.jobs")


async def stop(client: Client, facts: Facts, request: CancelRequest) -> bool:
    """Cancels an open job; whether it has ended by that, rather than its handler being told.

    An `RPCError` of status NOT_FOUND says that it ended by itself meanwhile.
    """
    handle = client.get_workflow_handle(facts.id, run_id=facts.run_id)
    record = record_of(facts)
    if state_of(facts, datetime.now(UTC)) is State.RUNNING and request.mode == "graceful":
        wanted = StopRequest(grace=request.grace, reason=request.reason, seen=record)
        await handle.signal("stop", wanted.model_dump(mode="json", exclude_defaults=True))
        await handle.cancel(reason=request.reason or "")
        return False
    # The server keeps the record of attempts only as long as the activity: it goes along with the end.
    record = record.given_up(datetime.now(UTC))
    ending = Ending(attempts=record.attempts, checkpoint=record.checkpoint, progress=record.progress)
    await handle.terminate(ending.compact(), reason=request.reason or "cancelled")
    await asyncio.gather(_tell_dependents(client, facts), _leave_places(client, facts))
    return True


async def _tell_dependents(client: Client, facts: Facts) -> None:
    """A terminated job tells nobody. Should this be lost, those who wait find out by asking, within a minute."""
    told = {"id": facts.id, "state": State.CANCELLED.value}
    waiting = await dependents_of(client, facts)
    signals = [client.get_workflow_handle(i).signal(PREDECESSOR, told) for i in waiting]
    for lost in await asyncio.gather(*signals, return_exceptions=True):
        if isinstance(lost, BaseException):
            log.info("a job that waited for %s was not told of its end: %s", facts.id, lost)


async def _leave_places(client: Client, facts: Facts) -> None:
    """A terminated job gives no place back. Should this be lost, its limit finds that out within two minutes."""
    running = facts.dispatched is not None and facts.dispatched.held
    left = Left(job=facts.id, chain=chain_of(facts.first_run_id), number=ALL_ASKS, lapses=running)
    limits = facts.view.limits if facts.view else []
    signals = [
        client.get_workflow_handle(limit_id).signal(LEAVE, left.model_dump(mode="json"))
        for limit_id in limits
    ]
    for lost in await asyncio.gather(*signals, return_exceptions=True):
        if isinstance(lost, BaseException):
            log.info("a limit under which %s had a place was not told of its end: %s", facts.id, lost)
