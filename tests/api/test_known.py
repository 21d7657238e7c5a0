"""What an API instance knows of kinds, while the server does not answer."""

import asyncio
from typing import Any, cast

import pytest
from temporalio.client import Client

from api import patience
from api.kinds import checking, known
from api.problems import Problem


async def test_readers_wait_together_not_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    began = 0

    async def never(client: Client) -> Any:
        nonlocal began
        began += 1
        await asyncio.Event().wait()

    monkeypatch.setattr(known, "read_kinds", never)
    monkeypatch.setattr(patience, "PATIENCE", 0.2)
    kinds = known.Known(cast(Client, None))
    refusals = await asyncio.gather(*(kinds.all() for _ in range(20)), return_exceptions=True)
    assert [isinstance(refusal, Problem) and refusal.status for refusal in refusals] == [503] * 20
    # Each reading begins when the limit of the one before has passed, and by then all have given up.
    assert began <= 2


def test_of_many_queues_a_few_are_told() -> None:
    assert checking._some(["a", "b"]) == "a, b"
    assert checking._some([f"q{number}" for number in range(1000)]) == "q0, q1, q2, q3, q4 and 995 more"
