"""Finding the times that were missed, and having the server run them after all."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, ScheduleOverlapPolicy

from activities.schedules.names import JUDGE, MAKE_UP
from activities.schedules.runs import runs_between
from activities.schedules.server import look, trigger_all
from duetime.contracts.instants import format_instant, parse_instant
from duetime.contracts.schedule_book import Book, Server
from duetime.cron.reading import read_fields
from duetime.schedules.grace import grace_of
from duetime.schedules.missed import judge, judge_edit, reach_of_edit

#: Seconds that the scheduler may take to come to the present after downtime, and between two looks.
_PATIENCE, _PAUSE = 30.0, 0.5


class CatchingUp:
    """Looks at schedules and at their runs; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=JUDGE)
    async def judge(self, book: dict[str, Any], edited_at: str | None = None) -> dict[str, Any]:
        """`{"times", "judged_until", "missed", "more", "wait"}`: what is to be made up, and up to where that is all.

        `wait` says that the server has still to come to what it will start. With `edited_at` only the times that this
        edit took from the server.
        """
        kept = Book.model_validate(book)
        spec = kept.parsed
        server = await self._present(kept.id)
        now = datetime.now(UTC)
        unchanged = {"times": [], "missed": server.missed, "more": False, "wait": False}
        if not server.exists or server.paused:
            return unchanged | {"judged_until": format_instant(now)}
        if edited_at is not None:
            edit = parse_instant(edited_at)
            runs = await runs_between(self._client, kept.id, reach_of_edit(kept, spec, edit), now)
            times = judge_edit(kept, spec, edit, runs)
            return unchanged | {"times": [format_instant(at) for at in times], "missed": kept.missed_seen}
        if server.queued > (spec.overlap == "queue_one"):
            return unchanged | {"missed": kept.missed_seen, "wait": True}
        grace = grace_of(spec, read_fields(spec, kept.id), now)
        since = max(kept.judged_until, now - spec.catch_up.window)
        wanted = server.missed != kept.missed_seen
        runs = await runs_between(self._client, kept.id, since, now) if wanted else []
        judgement = judge(kept, spec, grace, now, runs)
        times = judgement.times if wanted else []
        return {
            "times": [format_instant(at) for at in times],
            "judged_until": format_instant(judgement.judged_until),
            "missed": kept.missed_seen if judgement.more and wanted else server.missed,
            "more": judgement.more and wanted,
            "wait": False,
        }

    @activity.defn(name=MAKE_UP)
    async def make_up(self, book: dict[str, Any], times: list[str]) -> None:
        """Has the server start these times, one after the other unless runs may overlap. Repeating it is harmless."""
        kept = Book.model_validate(book)
        allow = kept.parsed.overlap == "allow"
        overlap = ScheduleOverlapPolicy.ALLOW_ALL if allow else ScheduleOverlapPolicy.BUFFER_ALL
        info = activity.info()
        request_id = f"{info.workflow_run_id}-{info.activity_id}"
        await trigger_all(self._client, kept.id, [parse_instant(at) for at in times], overlap, request_id)

    async def _present(self, schedule_id: str) -> Server:
        """The server's schedule once it has come to the present: what it has not started by then it never will."""
        until = asyncio.get_running_loop().time() + _PATIENCE
        while True:
            server = await look(self._client, schedule_id)
            now = datetime.now(UTC) - timedelta(seconds=1)
            if not server.next or server.next[0] > now or asyncio.get_running_loop().time() > until:
                return server
            activity.heartbeat()
            await asyncio.sleep(_PAUSE)
