"""The registry of kinds: workers write it, the API reads it, and it lives on the Temporal server alone.

An entry is an execution of type `Kind` that never runs: started with the longest delay there is, so that no worker
is needed for it, with what it says in its memo. A changed entry takes the place of the old one in one step of the
server. Reading all is one listing.
"""

import asyncio
import logging
from collections.abc import Iterable
from datetime import timedelta

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError

from duetime.contracts.kinds import KIND_ENTRY, KIND_MEMO, KindEntry
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.handlers import Handler

log = logging.getLogger("duetime.registry")

_NEVER = timedelta(days=36_500)
_SCHEMA_CHARACTERS = 100_000


async def read_kinds(client: Client) -> list[KindEntry]:
    """All entries, as the search index knows them (a moment behind)."""
    query = f"WorkflowType = '{KIND_ENTRY}' AND ExecutionStatus = 'Running'"
    found: list[KindEntry] = []
    async for execution in client.list_workflows(query, page_size=500):
        memo = await execution.memo()
        if KIND_MEMO in memo:
            found.append(KindEntry.model_validate(memo[KIND_MEMO]))
    return found


async def announce(client: Client, entries: Iterable[KindEntry]) -> None:
    """Writes the entries that are new or say something else. Raises `RPCError` when the server cannot be had."""
    known = {entry.entry_id: entry for entry in await read_kinds(client)}
    news = [entry for entry in entries if known.get(entry.entry_id) != entry]
    await asyncio.gather(*(_write(client, entry) for entry in news))


async def announce_patiently(client: Client, entries: Iterable[KindEntry]) -> None:
    """`announce`, tried until it succeeds: a worker serves meanwhile."""
    wait, entries = 1.0, list(entries)
    while True:
        try:
            return await announce(client, entries)
        except RPCError as error:
            log.warning("the kinds of this worker are not announced yet: %s", error)
            await asyncio.sleep(wait)
            wait = min(wait * 2, 60.0)


async def _write(client: Client, entry: KindEntry) -> None:
    await client.start_workflow(
        KIND_ENTRY,
        id=entry.entry_id,
        task_queue=ORCHESTRATION_QUEUE,
        start_delay=_NEVER,
        id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
        memo={KIND_MEMO: entry.model_dump(mode="json")},
        static_summary=f"the kind {entry.kind} on the queue {entry.queue}",
    )


def entries_of(handlers: Iterable[Handler], queues: Iterable[str]) -> list[KindEntry]:
    """What a worker with these handlers says on these queues."""
    return [
        KindEntry(
            kind=handler.kind,
            queue=queue,
            description=handler.description[:500],
            payload_schema=_schema(handler),
            defaults=dict(handler.defaults or {}),
        )
        for queue in queues
        for handler in handlers
    ]


def _schema(handler: Handler) -> dict[str, object] | None:
    """The JSON Schema of the payload; `None` when the handler's type has none, or an absurdly long one."""
    try:
        schema = handler.payload.json_schema()
    except Exception as error:
        log.info("the payload of %r has no JSON Schema: %s", handler.kind, error)
        return None
    return schema if len(str(schema)) <= _SCHEMA_CHARACTERS else None
