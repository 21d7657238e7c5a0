"""Requests made up from the OpenAPI document: none is answered with a fault of ours, or otherwise than documented."""

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client

from api.app import create_app
from api.routes import jobs
from tests.api.conftest import serving
from tests.engine.programs import environment
from tests.security.keyring import Keyring, settings

#: Not asked: what a schema cannot say (two ways to say when), and whether `Allow` is that of one template alone
#: (`/v1/jobs/a:cancel` is also the job of that name).
LEFT_OUT = "positive_data_acceptance,allow_header_conformance"

#: A batch is accepted whatever is wrong with its jobs: each is answered for itself.
SETTINGS = """
[[operations]]
include-name = "POST /v1/jobs:batch"
checks.negative_data_rejection.enabled = false
"""


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_LONGEST_WAIT", timedelta(milliseconds=50))


@pytest.fixture
async def locked(client: Client, tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    """The address of an API with keys, and a key for everything."""
    keyring = Keyring(tmp_path / "keys.json")
    key = keyring.add("admin")
    app = create_app(settings(api_keys_file=keyring.path, api_rate=100_000), client)
    async with serving(app) as address:
        yield address, key


@pytest.mark.usefixtures("worker", "short_waits")
async def test_made_up_requests(locked: tuple[str, str], tmp_path: Path) -> None:
    await make_up(*locked, tmp_path, "examples,fuzzing", examples=4)


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("worker", "short_waits")
async def test_many_made_up_requests_and_sequences_of_them(locked: tuple[str, str], tmp_path: Path) -> None:
    await make_up(*locked, tmp_path, "examples,coverage,fuzzing,stateful", examples=50)


async def make_up(address: str, key: str, tmp_path: Path, phases: str, examples: int) -> None:
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    options = {
        "phases": phases,
        "max-examples": str(examples),
        "seed": "1",
        "exclude-checks": LEFT_OUT,
        "workers": "1",
        "report-dir": str(tmp_path),
        "header": f"Authorization: Bearer {key}",
    }
    run = ["-m", "schemathesis.cli", "run", f"{address}/openapi.json", "--no-color"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *run,
        *(f"--{name}={value}" for name, value in options.items()),
        cwd=tmp_path,
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, said.decode()
    assert "Tested" in said.decode()
