"""What the preview lists is what then happens: random rules by the second, run for real."""

import asyncio
import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from duetime.contracts.instants import format_instant
from tests.schedules.conftest import Scheduler, passed
from tests.support.waiting import eventually

#: How many rules; with fifty it takes a minute.
RULES = int(os.environ.get("DUETIME_FORESIGHT_RULES", "4"))
SEED = int(os.environ.get("DUETIME_FORESIGHT_SEED", "0")) or random.randrange(2**32)
#: Seconds for which they run.
LENGTH = 5
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Europe/Paris")


def any_rule(chance: random.Random, start: datetime) -> dict[str, Any]:
    """A rule of seconds, alive from `start` on for `LENGTH` seconds, its end excluded."""
    some = sorted(chance.sample(range(60), 12))
    line = chance.choice(
        [
            f"{','.join(map(str, some))} * * * * *",
            f"*/{chance.choice((1, 2, 3))} * * * * *",
            f"{chance.randrange(2)}/2 * * * * *",
            "H/2 * * * * *",
            "* * * * * MON-SUN",
        ]
    )
    rule: dict[str, Any] = chance.choice(
        [
            {"cron": line},
            {"cron": [line, f"{start.second % 60} * * * * *"]},
            {"every": f"{chance.randrange(1, 4)}s", "offset": "0s"},
            {"at": [format_instant(start + timedelta(seconds=second)) for second in (0, 3, 4)]},
        ]
    )
    if chance.random() < 0.4:
        rule["exclude"] = [{"cron": f"{second} * * * * *"} for second in chance.sample(range(60), 10)]
    return rule | {
        "timezone": chance.choice(ZONES),
        "start_at": format_instant(start),
        "end_at": format_instant(start + timedelta(seconds=LENGTH)),
    }


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("worker")
async def test_what_the_preview_lists_is_what_happens(http: httpx2.AsyncClient, queue: str) -> None:
    chance = random.Random(SEED)
    start = (datetime.now(UTC) + timedelta(seconds=8 + RULES // 8)).replace(microsecond=0)
    schedules: list[tuple[Scheduler, list[str]]] = []
    for number in range(RULES):
        schedule = Scheduler(http, queue, f"{queue}-{number}")
        rule = any_rule(chance, start)
        seen = await http.post("/v1/schedules:preview", json={**rule, "id": schedule.id, "n": 1_000})
        if seen.status_code == 422:  # the exclusions left nothing
            continue
        assert seen.status_code == 200, (seen.text, rule)
        await schedule.made(**rule, overlap="allow")
        listed = [fire["utc"] for fire in seen.json()["fires"] if "excluded" not in fire["tags"]]
        schedules.append((schedule, listed))
    assert datetime.now(UTC) < start, "too slow to see the beginning"
    assert sum(len(listed) for _, listed in schedules) > RULES
    try:
        await passed(format_instant(start + timedelta(seconds=LENGTH)))
        for schedule, expected in schedules:

            async def came(schedule: Scheduler = schedule, count: int = len(expected)) -> list[str] | None:
                found = await schedule.nominals()
                return found if len(found) >= count else None

            found = await eventually(came, patience=120)
            assert found == expected, (SEED, (await schedule.get())["spec"])
    finally:
        await asyncio.gather(*(http.delete(schedule.path) for schedule, _ in schedules))
