"""A worker's shutdown ends, whatever the SDK's core does."""

import asyncio
from typing import Any

import pytest
from temporalio.bridge.worker import Worker as Bridge
from temporalio.client import Client

from duetime import handler
from duetime.runtime import poller
from tests.support.jobs import Jobs, outcome_of
from tests.support.workers import serving


@handler("quick")
async def quick(payload: dict[str, Any]) -> str:
    return "done"


async def test_a_core_that_never_finishes_is_left_behind(
    jobs: Jobs, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = asyncio.Event()
    finish = Bridge.finalize_shutdown

    async def never(self: Bridge) -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await finish(self)  # what the test leaves behind

    monkeypatch.setattr(Bridge, "finalize_shutdown", never)
    monkeypatch.setattr(poller, "SLACK", 2.0)
    async with serving(client, jobs.queue, quick):
        done = await outcome_of(await jobs.start("quick"))
    assert done.result == "done"
    assert asked.is_set()
    assert f"the worker of queue {jobs.queue} does not finish its shutdown" in caplog.text
