"""Temporal as `deploy/temporal` sets it up, held to the embedded server, which is the same version."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compose import ROOT, SERVICES, environment

DEPLOY = ROOT / "deploy/temporal"


@pytest.fixture(scope="module")
def temporal() -> Path:
    """The program of the embedded server, which is in the lock files."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which("temporal", path=places)
    assert found, "no `temporal` beside this Python; `make test` installs it"
    return Path(found)


@pytest.fixture(scope="module")
def server_text(temporal: Path) -> bytes:
    """All the text in that program, the names of its settings and its configuration's template among it."""
    return temporal.resolve().read_bytes()


def dynamic_config() -> dict[str, list[dict[str, Any]]]:
    """The file that the server is told to read."""
    path = Path(environment("temporal")["DYNAMIC_CONFIG_FILE_PATH"])
    loaded: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        (DEPLOY / "dynamicconfig" / path.name).read_text()
    )
    return loaded


def test_the_versions_are_those_of_the_embedded_server(temporal: Path) -> None:
    """What the tests see is what runs on the cluster."""
    told = subprocess.run([temporal, "--version"], capture_output=True, text=True, check=True).stdout
    server, ui = re.findall(r"(?:Server|UI) ([0-9.]+)", told)
    images = {service["image"] for service in SERVICES.values() if "temporalio/" in service["image"]}
    assert images == {
        f"temporalio/server:{server}",
        f"temporalio/admin-tools:{server}",
        f"temporalio/ui:{ui}",
    }


def test_the_server_reads_every_variable_it_is_given(server_text: bytes) -> None:
    given = environment("temporal")
    assert [name for name in given if f'env "{name}"'.encode() not in server_text] == []


def test_dynamic_configuration_is_known_to_the_server(server_text: bytes) -> None:
    for key, values in dynamic_config().items():
        assert f"{key}".encode() in server_text, f"{key} is not a setting of this server"
        assert [value for value in values if not {"value"} <= set(value) <= {"value", "constraints"}] == []


def test_dynamic_configuration_is_that_of_the_embedded_server() -> None:
    module = pytest.importorskip("duetime.engine.command", reason="the embedded server is not written yet")
    command = module.server_command(
        Path("temporal"),
        port=1,
        ui_port=None,
        database=None,
        namespace="default",
        log_level="warn",
        dynamic_config={},
    )
    flags = [value.partition("=") for flag, value in pairwise(command) if flag == "--dynamic-config-value"]
    embedded = {key: json.loads(value) for key, _, value in flags if key not in module.DEV_SERVER_ALONE}
    assert {key: values[0]["value"] for key, values in dynamic_config().items()} == embedded


def run_schema_job(directory: Path, tool: str) -> subprocess.CompletedProcess[bytes]:
    """Run the job with `tool`, a shell script, in the place of `temporal-sql-tool`."""
    program = directory / "temporal-sql-tool"
    program.write_text(f"#!/bin/sh\n{tool}\n")
    program.chmod(0o755)
    return subprocess.run(
        ["sh", DEPLOY / "schema.sh"], env={"PATH": f"{directory}:/usr/bin:/bin"}, check=False
    )


def test_the_schema_job_prepares_both_databases(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    assert run_schema_job(tmp_path, f'echo "$@" >> {asked}').returncode == 0
    schemas = "/etc/temporal/schema/postgresql/v12"
    assert asked.read_text().splitlines() == [
        "--database temporal create-database",
        "--database temporal setup-schema --version 0.0",
        f"--database temporal update-schema --schema-dir {schemas}/temporal/versioned",
        "--database temporal_visibility create-database",
        "--database temporal_visibility setup-schema --version 0.0",
        f"--database temporal_visibility update-schema --schema-dir {schemas}/visibility/versioned",
    ]


def test_the_schema_job_fails_when_a_step_fails(tmp_path: Path) -> None:
    assert run_schema_job(tmp_path, 'case "$*" in *setup-schema*) exit 1 ;; esac').returncode == 1


def test_the_namespace_job_sets_the_retention_and_may_be_repeated(temporal: Path) -> None:
    with starting_server(temporal) as address:
        variables = environment("temporal-namespace") | {
            "PATH": f"{temporal.parent}:/usr/bin:/bin",
            "TEMPORAL_ADDRESS": address,
            "TEMPORAL_NAMESPACE": "jobs",
        }

        def run(*command: str) -> str:
            done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run("sh", str(DEPLOY / "namespace.sh"))
        assert "there already" in run("sh", str(DEPLOY / "namespace.sh"))
        told = run("temporal", "operator", "namespace", "describe", "--output", "json")
        assert re.findall(r'"workflowExecutionRetentionTtl":\s*"(\w+)"', told) == ["604800s"], "seven days"


@contextlib.contextmanager
def starting_server(temporal: Path) -> Iterator[str]:
    """A Temporal server in memory, not up yet: the job has to wait for it, as it has to in a container."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(temporal), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def test_someone_adds_the_search_attributes_that_the_namespace_job_leaves_out() -> None:
    pytest.importorskip("duetime.engine.namespace", reason="the search attributes' setup is not written yet")
    if not (ROOT / "worker.py").exists():
        pytest.skip("worker.py is not written yet")
    callers = [ROOT / "worker.py", *(ROOT / "api").rglob("*.py"), *(ROOT / "activities").rglob("*.py")]
    assert any("prepare_namespace(" in path.read_text() for path in callers)
