"""Requests made up from the OpenAPI document: none is answered with a fault of ours, or otherwise than documented."""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from api.routes import jobs, pipelines
from tests.engine.programs import environment

#: For the long run, for each operation: `DUETIME_FUZZ_EXAMPLES=500 make test ARGS="-m faults tests/api/test_fuzz.py"`.
MANY = int(os.environ.get("DUETIME_FUZZ_EXAMPLES", "50"))

#: Not asked: what a schema cannot say (two ways to say when), whether `Allow` is that of one template alone
#: (`/v1/jobs/a:cancel` is also the job of that name), and whether keys are asked for: this API has none.
LEFT_OUT = "positive_data_acceptance,allow_header_conformance,ignored_auth"

#: A batch is accepted whatever is wrong with its jobs: each is answered for itself. A stream of events has no schema.
SETTINGS = """
max-stream-events = 1

[checks.negative_data_rejection]
# A parameter beyond its length is mostly one with which the whole of the URI is too long.
expected-statuses = [400, 401, 403, 404, 406, 408, 413, 414, 415, 422, 429, 431, 503]

[generation]
with-security-parameters = false

[[operations]]
include-name = "GET /v1/jobs/{job_id}/events"
checks.response_schema_conformance.enabled = false

[[operations]]
include-name = "GET /v1/pipelines/{pipeline_id}/events"
checks.response_schema_conformance.enabled = false

[[operations]]
include-name = "POST /v1/jobs:batch"
checks.negative_data_rejection.enabled = false
"""


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for routes in (jobs, pipelines):
        monkeypatch.setattr(routes, "LONGEST_WAIT", timedelta(milliseconds=50))


@pytest.mark.usefixtures("worker", "short_waits")
async def test_made_up_requests(address: str, tmp_path: Path) -> None:
    await make_up(address, tmp_path, "examples,fuzzing", examples=2)


@pytest.mark.faults
@pytest.mark.timeout(1800 + 10 * MANY)
@pytest.mark.usefixtures("worker", "short_waits")
async def test_many_made_up_requests_and_sequences_of_them(address: str, tmp_path: Path) -> None:
    await make_up(address, tmp_path, "examples,coverage,fuzzing,stateful", examples=MANY)


async def make_up(address: str, tmp_path: Path, phases: str, examples: int) -> None:
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    options = {
        "phases": phases,
        "max-examples": str(examples),
        "seed": "1",
        "exclude-checks": LEFT_OUT,
        "workers": "1",
        "report-dir": str(tmp_path),
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
