"""The search index and the executions behind it, in memory, with a lag that a test controls.

The conditions of our queries are plain SQL, so SQLite answers them here as it does inside the embedded server.
"""

import re
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from temporalio.client import WorkflowExecutionStatus as Status

from api.jobs.index import Index, Row
from api.jobs.listing import Lister
from api.jobs.reading import Reader
from duetime.contracts.job import JobSpec
from duetime.jobs.facts import Facts

_BEGIN = datetime(2027, 1, 15, 9, 0, tzinfo=UTC)
_NAMES = {
    Status.RUNNING: "Running",
    Status.COMPLETED: "Completed",
    Status.CONTINUED_AS_NEW: "ContinuedAsNew",
}
_COLUMNS = "WorkflowType, ExecutionStatus, StartTime, CloseTime, RunId, DuetimeDueAt, DuetimeOutcome"


@dataclass(frozen=True)
class Run:
    """One run of a job, as it really is."""

    job: str
    run_id: str
    started_at: datetime
    status: Status = Status.RUNNING
    closed_at: datetime | None = None


class World:
    """Executions, and an index that hears of each change when it is told."""

    def __init__(self) -> None:
        self.now = _BEGIN
        self.runs: dict[str, Run] = {}
        self.unheard: list[str] = []
        self._indexed: dict[str, Run] = {}
        self._base = sqlite3.connect(":memory:")
        self._base.execute(f"CREATE TABLE runs ({_COLUMNS}, PRIMARY KEY (RunId))")

    def tick(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def start(self, job: str) -> Run:
        """A new run; the index does not know it yet."""
        return self._put(Run(job, str(uuid.uuid4()), self.tick()))

    def close(self, run: Run, status: Status = Status.COMPLETED) -> Run:
        return self._put(replace(self.runs[run.run_id], status=status, closed_at=self.tick()))

    def go_on(self, run: Run) -> Run:
        """The job goes on in another run."""
        self.close(run, Status.CONTINUED_AS_NEW)
        return self.start(run.job)

    def _put(self, run: Run) -> Run:
        self.runs[run.run_id] = run
        if run.run_id not in self.unheard:
            self.unheard.append(run.run_id)
        return run

    def hear(self, position: int = 0) -> None:
        """The index hears of one change, not always of the oldest."""
        run = self.runs[self.unheard.pop(position % len(self.unheard))]
        self._indexed[run.run_id] = run
        fields = ("Job", _NAMES[run.status], _text(run.started_at), run.closed_at and _text(run.closed_at))
        self._base.execute(
            "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, NULL, NULL)", (*fields, run.run_id)
        )

    def hear_all(self) -> None:
        while self.unheard:
            self.hear()

    def indexed(self) -> list[Run]:
        return list(self._indexed.values())

    def select(self, query: str, size: int, offset: int) -> list[Run]:
        """The index's answer, in its order."""
        fixed = re.sub(r"'(\d{4}-\d\d-\d\dT[\d:.]+Z)'", lambda m: f"'{_text(_parse(m[1]))}'", query)
        found = self._base.execute(
            f"SELECT RunId FROM runs WHERE {fixed} ORDER BY coalesce(CloseTime, '9999') DESC, StartTime DESC, RunId "
            f"LIMIT {size} OFFSET {offset}"
        )
        return [self._indexed[run_id] for (run_id,) in found]


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _parse(text: str) -> datetime:
    return datetime.fromisoformat(text)


class MirrorIndex(Index):
    """An `Index` over a world. Something may happen before each answer, never within one."""

    def __init__(self, world: World, happen: Callable[[], None]) -> None:
        self._world = world
        self._happen = happen

    async def rows(self, query: str, size: int, token: bytes = b"") -> tuple[list[Row], bytes]:
        self._happen()
        offset = int(token or 0)
        found = self._world.select(query, size + 1, offset)
        more = str(offset + size).encode() if len(found) > size else b""
        return [_row(run) for run in found[:size]], more


def _row(run: Run) -> Row:
    return Row(
        id=run.job,
        run_id=run.run_id,
        status=run.status,
        started_at=run.started_at,
        execution_at=run.started_at,
        closed_at=run.closed_at,
        kind="crowd",
        queue="default",
        tags=(),
    )


class MirrorLister(Lister):
    """A `Lister` over a world: all of it but the calls to a server."""

    def __init__(self, world: World, happen: Callable[[], None]) -> None:
        client: Any = SimpleNamespace(namespace="mirror")
        super().__init__(client, Reader(client, "http://ui.test"))
        self._world = world
        self._happen = happen
        self._index = MirrorIndex(world, happen)

    async def _fetch(self, job_id: str, run_id: str = "") -> Facts:
        self._happen()
        runs = [run for run in self._world.runs.values() if run.job == job_id]
        run = self._world.runs[run_id] if run_id else max(runs, key=lambda run: run.started_at)
        return replace(_row(run).facts(), spec=JobSpec(kind="crowd"))
