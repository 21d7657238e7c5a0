"""The whole examination: this machine, the server, and everything that waits on it."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime

from temporalio.client import Client
from temporalio.service import RPCError

from api.doctor.backlogs import trends
from api.doctor.endings import endings, examine_endings
from api.doctor.left_behind import left_behind
from api.doctor.queues import examine_queues
from api.doctor.schedules import examine_schedules
from api.jobs.index import Index
from api.kinds.known import Known
from api.patience import answer_in_time, in_time
from api.problems import Problem
from api.queues.board import Board
from api.queues.views import queue_list
from api.schedules.reading import ScheduleReader
from duetime.doctor.findings import Finding, Report, Severity, error
from duetime.doctor.server import examine_server
from duetime.doctor.zones import examine_zones
from duetime.observe.runtime import SIGN_OF_LIFE


async def examine(client: Client, board: Board | None = None) -> Report:
    """Everything, with a board that has looked before or a new one."""
    found = examine_zones(datetime.now(UTC).date())
    server = await examine_server(client)
    found += server
    if not any(finding.severity is Severity.ERROR for finding in server if finding.check in _NEEDED):
        found += await _readable("queues", _queues(client, board or await _new_board(client, server)))
        found += await _readable("endings", _endings(client))
        found += await _readable("schedules", _schedules(client))
    return Report.of(found)


#: Without these nothing else can be looked at.
_NEEDED = ("server", "namespace", "search-attributes")


async def _new_board(client: Client, server: list[Finding]) -> Board:
    """At its first look a board must trust the clocks of workers; where clocks differ, only the second one tells."""
    board = Board(client, Known(client))
    if any(finding.check == "clock" and finding.severity is not Severity.OK for finding in server):
        await answer_in_time(board.all())
        await asyncio.sleep(1.5 * SIGN_OF_LIFE.total_seconds())
    return board


async def _queues(client: Client, board: Board) -> list[Finding]:
    sight = await answer_in_time(board.all())
    seen = queue_list(sight)
    paces = await answer_in_time(trends(Index(client), seen.queues, seen.taken_at))
    return examine_queues(sight, seen, paces)


async def _endings(client: Client) -> list[Finding]:
    return examine_endings(*await answer_in_time(endings(client, datetime.now(UTC))))


async def _schedules(client: Client) -> list[Finding]:
    async with in_time():
        known = [found async for found in ScheduleReader(client, "").summaries()]
        left = await left_behind(client, {one.id for one in known})
    return examine_schedules(known, datetime.now(UTC), left)


async def _readable(check: str, look: Awaitable[list[Finding]]) -> list[Finding]:
    """What `look` finds, or that it cannot be found out now."""
    try:
        return await look
    except (RPCError, Problem) as fault:
        return [error(check, f"they cannot be read: {fault}", "try again when the server is less busy")]
