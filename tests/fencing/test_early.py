"""A server that crashed hands out again what it had handed out just before: a back-off is kept all the same."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from duetime import Job, RetryAfter, handler
from duetime.connection import connect
from duetime.engine import EmbeddedEngine, EngineConfig
from duetime.jobs.facts import fetch
from duetime.jobs.state import record_of
from tests.support.jobs import Jobs, is_queued, outcome_of
from tests.support.waiting import eventually
from tests.support.workers import serving
from workflows.worker import orchestrator

#: The first of these comes back to the workflow when it is handed out too early, the second to the server.
_ATTEMPTS = [2, 5]


@pytest.mark.parametrize("attempts", _ATTEMPTS)
async def test_a_retry_is_not_made_before_its_time_because_the_server_was_killed(
    tmp_path: Path, attempts: int
) -> None:
    began = Counter[str]()

    @handler("not-now")
    async def not_now(payload: dict[str, Any], job: Job) -> None:
        began[job.id] += 1
        raise RetryAfter(timedelta(hours=12))

    @handler("quick")
    async def quick(payload: dict[str, Any]) -> None:
        pass

    config = EngineConfig(data_dir=tmp_path / "temporal", ui_port=None, log_level="error")
    async with EmbeddedEngine(config) as engine:
        client = await connect(engine.address)
        jobs = Jobs(client, "early")
        async with orchestrator(client):
            # Nobody polls yet, so that the server writes down what it is to hand out.
            handle = await jobs.start("not-now", retry={"max_attempts": attempts})
            await eventually(lambda: is_queued(handle))
            async with serving(client, "early", not_now, quick):
                await eventually(lambda: began[handle.id])

                async def failures() -> int:
                    record = record_of(await fetch(client, handle.id))
                    return sum(attempt.outcome == "failed" for attempt in record.attempts)

                await eventually(failures)
                await engine.kill()
                await engine.start()
                # Those that were handed out before come before those that come now.
                await outcome_of(await jobs.start("quick"))

                async def waits() -> datetime | None:
                    """When the next attempt is due, once nobody has the job."""
                    facts = await fetch(client, handle.id)
                    told = facts.dispatched or facts.view
                    return told.next_attempt_at if told else None

                due = await eventually(waits)
            assert began == {handle.id: 1}
            assert due is not None and due - datetime.now(UTC) > timedelta(hours=11)
            record = record_of(await fetch(client, handle.id))
            # It need not hand it out again: that depends on when it last wrote down how far it was.
            outcomes = [attempt.outcome.value for attempt in record.attempts]
            assert outcomes in (["failed"], ["failed", "interrupted"])
            assert record.used == 1
