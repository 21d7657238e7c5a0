"""What an API instance knows of kinds, while the server does not answer."""

import asyncio
from typing import Any, cast

import pytest
from temporalio.client import Client

from api import patience
from api.kinds import known
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
