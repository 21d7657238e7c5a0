"""Finding the times that were missed, and having the server run them after all."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, ScheduleOverlapPolicy

from activities.schedules.names import JUDGE, MAKE_UP
from activities.schedules.runs import runs_between, with_recent
from activities.schedules.server import look, trigger_all
from duetime.contracts.instants import format_instant, parse_instant
from duetime.contracts.schedule_book import Book, Server
from duetime.schedules.missed import (
    Run,
    begins_with_the_oldest,
    is_over,
    judge,
    judge_edit,
    reach_of_edit,
    settled_until,
    unstarted,
)

#: Seconds that the scheduler may take to come to the present after downtime, and between two looks.
_PATIENCE, _PAUSE = 5.0, 0.5


class CatchingUp:
    """Looks at schedules and at their runs; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=JUDGE)
    async def judge(self, book: dict[str, Any], edited_at: str | None = None) -> dict[str, Any]:
        """`{"times", "judged_until", "looked_at", "missed", "skipped", "settled", "settles", "more", "wait"}`.

        What is to be made up, and up to where that is all: `settles` seconds from now it is known of the present too.
        `missed` is the server's own count of what nobody may have started; `skipped` says that it has the times to be
        made up among those it skipped, and `settled` that no time of its absence is left to judge. `wait` says that the
        server has still to come to what it will start. With `edited_at` only the times that this edit took from the
        server.
        """
        kept = Book.model_validate(book)
        spec = kept.parsed
        oldest_first = begins_with_the_oldest(kept, spec)
        server, is_present = await self._present(kept.id)
        now = datetime.now(UTC)
        told: dict[str, Any] = {
            "times": [],
            "judged_until": format_instant(kept.judged_until),
            "looked_at": format_instant(now),
            "missed": unstarted(kept, spec, server),
            "skipped": oldest_first,
            "settled": False,
            "settles": 0.0,
            "more": False,
            "wait": False,
        }
        if not server.exists or server.paused:
            return told | {"judged_until": format_instant(now)}
        if server.queued > (spec.overlap == "queue_one"):
            return told | {"wait": True}
        if edited_at is not None:
            edit = parse_instant(edited_at)
            runs = await self._runs(kept, server, reach_of_edit(kept, spec, edit), now)
            return told | {"times": [format_instant(at) for at in judge_edit(kept, spec, edit, runs)]}
        if oldest_first and not is_present and server.next[0] > now - spec.catch_up.window:
            # It may still start the next of them, and the others come after that.
            return told | {"wait": True}
        horizon = settled_until(kept, spec, now, is_present=is_present)
        told["settles"] = (now - horizon).total_seconds()
        if told["missed"] == kept.missed_seen:
            return told | {"judged_until": format_instant(max(horizon, kept.judged_until))}
        since = max(kept.judged_until, now - spec.catch_up.window)
        runs = await self._runs(kept, server, since, now)
        judgement = judge(kept, spec, horizon, now, runs)
        if oldest_first:
            told["settled"] = is_over(spec, runs, horizon)
        return told | {
            "times": [format_instant(at) for at in judgement.times],
            "judged_until": format_instant(judgement.judged_until),
            "more": judgement.more,
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

    async def _runs(self, book: Book, server: Server, since: datetime, now: datetime) -> list[Run]:
        return with_recent(await runs_between(self._client, book.id, since, now), server, book.id)

    async def _present(self, schedule_id: str) -> tuple[Server, bool]:
        """The server's schedule, and whether it is known to have come to the present after downtime: what it has not
        started by then it never will. Where all was missed it goes on to tell of times in the past."""
        until = asyncio.get_running_loop().time() + _PATIENCE
        while True:
            now = datetime.now(UTC)
            server = await look(self._client, schedule_id)
            is_present = not server.next or server.next[0] > now - timedelta(seconds=1)
            if is_present or asyncio.get_running_loop().time() > until:
                return server, is_present
            activity.heartbeat()
            await asyncio.sleep(_PAUSE)
