"""Requests made up from the OpenAPI document: none is answered with a fault of ours, or otherwise than documented."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from api.routes import jobs
from duetime.worker import Worker
from tests.engine.programs import environment

#: Not asked: what a schema cannot say (two ways to say when), and whether `Allow` is that of one template alone
#: (`/v1/jobs/a:cancel` is also the job of that name).
LEFT_OUT = "positive_data_acceptance,allow_header_conformance"


@pytest.mark.timeout(300)
async def test_made_up_requests(
    address: str, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_LONGEST_WAIT", timedelta(milliseconds=50))
    options = {
        "phases": "examples,coverage,fuzzing",
        "max-examples": "4",
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
