"""The command line against the fake, in this process; what only a process can show is in `test_processes.py`."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from duetime import Job, Reject, SyncClient, handler
from duetime.cli.context import Connection
from duetime.cli.main import run
from duetime.testing import FakeDuetime
from tests.client.conftest import api_url

__all__ = ["api_url"]


@handler("greet")
async def greet(payload: dict[str, Any], job: Job) -> dict[str, str]:
    """Greets."""
    return {"greeting": f"Hello, {payload.get('name', 'world')}!"}


@handler("reject")
async def reject(payload: dict[str, Any]) -> None:
    raise Reject(payload.get("why", "never"))


@dataclass
class Said:
    """What a command line said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return [re.sub(r"\s+", " ", line).strip() for line in self.out.splitlines()]


Cli = Callable[..., Said]


@pytest.fixture
def fake() -> FakeDuetime:
    found = FakeDuetime()
    found.register(greet, reject)
    return found


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DUETIME_URL", "DUETIME_API_KEY", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(
    fake: FakeDuetime, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Cli]:
    """`cli("list", "--state", "failed")`, with the fake for an API."""
    clients: list[SyncClient] = []

    def client(_: Connection) -> SyncClient:
        clients.append(fake.sync_client())
        return clients[-1]

    monkeypatch.setattr(Connection, "client", client)

    def call(*arguments: str) -> Said:
        capsys.readouterr()
        code = run(arguments)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    yield call
    for each in clients:
        each.close()
