"""Many commands on one schedule: a few go to the server at a time, and who has no answer hears the right reason."""

import asyncio
from typing import Any, cast

import pytest

from api.problems import Problem
from api.schedules import commands
from api.schedules.commands import Commander
from api.schedules.turns import AT_ONCE


@pytest.fixture
def commander(monkeypatch: pytest.MonkeyPatch) -> Commander:
    monkeypatch.setattr(commands, "time_left", lambda: 0.5)
    nobody = cast(Any, None)
    return Commander(nobody, nobody, nobody)


async def never() -> Any:
    await asyncio.Event().wait()


async def at_once() -> int:
    return 1


async def unanswered(commander: Commander, schedule_id: str) -> str:
    with pytest.raises(Problem) as told:
        await commander._answer(never, schedule_id)
    assert told.value.status == 503
    return str(told.value.extra["reason"])


async def test_a_few_at_a_time_and_each_in_turn(commander: Commander) -> None:
    under_way, most = 0, 0

    async def call() -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return 1

    assert await asyncio.gather(*(commander._answer(call, "s") for _ in range(20))) == [1] * 20
    assert most == AT_ONCE
    assert not commander.turns._places, "nothing is kept"


async def test_without_an_answer_for_anybody_no_worker_is_there(commander: Commander) -> None:
    assert await asyncio.gather(*(unanswered(commander, "s") for _ in range(5))) == ["no_orchestrator"] * 5


async def test_when_others_are_answered_it_is_they_who_are_in_the_way(commander: Commander) -> None:
    mine = asyncio.ensure_future(unanswered(commander, "s"))
    elsewhere = asyncio.ensure_future(unanswered(commander, "another"))
    await asyncio.sleep(0)
    assert await commander._answer(at_once, "s") == 1
    assert (await mine, await elsewhere) == ("schedule_busy", "no_orchestrator")
