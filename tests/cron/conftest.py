"""A Temporal server in memory, asked for nothing but which times match a specification."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.workflowservice.v1 import ListScheduleMatchingTimesRequest
from temporalio.client import Client, Schedule, ScheduleActionStartWorkflow, ScheduleSpec, ScheduleState

#: `(specification, [(after, until)])` to the seconds since the epoch that the server itself would fire at.
Enumerate = Callable[[ScheduleSpec, list[tuple[int, int]]], Awaitable[list[int]]]

#: The most times the server lists in one answer.
_PAGE = 1_000


@pytest.fixture(scope="session")
def temporal_port() -> Iterator[int]:
    binary = shutil.which("temporal") or str(Path(sys.executable).parent / "temporal")
    if not os.access(binary, os.X_OK):
        pytest.skip("no temporal binary on this machine")
    port = int(os.environ.get("DUETIME_TEST_CRON_PORT", "0")) or _free_port()
    process = subprocess.Popen(
        [binary, "server", "start-dev", "--headless", "--port", str(port), "--log-level", "error"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
async def temporal(temporal_port: int) -> Client:
    async with asyncio.timeout(60):
        while True:
            try:
                client = await Client.connect(f"127.0.0.1:{temporal_port}")
                await client.count_workflows()
            except Exception:
                await asyncio.sleep(0.1)
            else:
                return client


@pytest.fixture(scope="session")
async def enumerate_times(temporal: Client) -> Enumerate:
    async def enumerate_times(spec: ScheduleSpec, spans: list[tuple[int, int]]) -> list[int]:
        handle = await temporal.create_schedule(
            f"cron-{uuid.uuid4()}",
            Schedule(
                action=ScheduleActionStartWorkflow("Never", id="never", task_queue="nobody"),
                spec=spec,
                state=ScheduleState(paused=True),
            ),
        )
        try:
            return [time for after, until in spans for time in await _matching(handle.id, after, until)]
        finally:
            await handle.delete()

    async def _matching(schedule_id: str, after: int, until: int) -> list[int]:
        found: list[int] = []
        while after < until:
            answer = await temporal.workflow_service.list_schedule_matching_times(
                ListScheduleMatchingTimesRequest(
                    namespace="default",
                    schedule_id=schedule_id,
                    start_time=Timestamp(seconds=after),
                    end_time=Timestamp(seconds=until),
                )
            )
            page = [time.seconds for time in answer.start_time]
            found += page
            if len(page) < _PAGE:
                break
            after = page[-1]
        return found

    return enumerate_times


def instant(text: str) -> int:
    """`2026-03-08T07:00Z` as seconds since the epoch."""
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
