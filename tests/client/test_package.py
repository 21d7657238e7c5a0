"""The package's face: what it exports, and what importing it costs."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import duetime
import duetime.client
from tests.support.source import tree_of

ROOT = Path(__file__).parents[2]


def test_the_exports_are_sorted_and_are_these() -> None:
    assert duetime.__all__ == sorted(duetime.__all__)
    assert duetime.__all__ == [
        "Client",
        "DuetimeError",
        "Job",
        "JobCancelled",
        "JobSpec",
        "JobView",
        "Reject",
        "Retry",
        "RetryAfter",
        "Snooze",
        "State",
        "Submitted",
        "SyncClient",
        "Worker",
        "errors",
        "handler",
    ]
    assert duetime.client.__all__ == sorted(duetime.client.__all__)


def test_every_export_is_there_and_where_type_checkers_find_it() -> None:
    tree = tree_of(ROOT / "duetime/__init__.py")
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name, home in imported.items():
        assert getattr(duetime, name) is getattr(importlib.import_module(home), name)
    assert {*imported, "errors"} == set(duetime.__all__)
    assert duetime.errors is importlib.import_module("duetime.errors")
    assert set(duetime.__all__) <= set(dir(duetime))


def loaded(code: str) -> set[str]:
    """Top-level names of the modules that `code` loads in a fresh interpreter."""
    command = f"import sys; {code}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.split()}


def test_importing_it_loads_nothing_heavy() -> None:
    assert loaded("import duetime") & {"temporalio", "pydantic", "httpx2", "asyncio"} == set()


def test_neither_client_nor_handlers_load_the_temporal_sdk() -> None:
    names = "duetime.Client, duetime.SyncClient, duetime.handler, duetime.Job, duetime.Snooze, duetime.errors"
    assert loaded(f"import duetime; {names}") & {"temporalio", "sqlalchemy", "fastapi", "typer"} == set()


def test_the_sdk_needs_no_extra() -> None:
    """What other services install is `duetime` without the extras of the service."""
    only_in_extras = {
        "fastapi",
        "uvicorn",
        "pydantic_settings",
        "croniter",
        "jsonschema",
        "sqlalchemy",
        "pytest",
    }
    code = "import duetime, duetime.cli.main, duetime.temporal; [getattr(duetime, name) for name in duetime.__all__]"
    assert loaded(code) & only_in_extras == set()
