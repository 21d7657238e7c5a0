"""The ledger as others meet it: what is exported, what is documented, and what happens without SQLAlchemy."""

import subprocess
import sys
from pathlib import Path

import pytest

from duetime import effects

GUIDE = (Path(__file__).parents[2] / "docs" / "effects.md").read_text(encoding="utf-8")


def run_without(module: str, code: str) -> "subprocess.CompletedProcess[str]":
    """Run `code` in a new interpreter in which `module` is not installed."""
    blocked = f"import sys; sys.modules[{module!r}] = None; {code}"
    return subprocess.run([sys.executable, "-c", blocked], text=True, capture_output=True, check=False)


def test_exports_are_sorted_and_there() -> None:
    assert effects.__all__ == sorted(effects.__all__)
    assert all(hasattr(effects, name) for name in effects.__all__)


@pytest.mark.parametrize("name", effects.__all__)
def test_guide_knows_every_export(name: str) -> None:
    assert f"`{name}" in GUIDE or f" {name}(" in GUIDE or f"effects.{name}" in GUIDE


def test_importing_duetime_does_not_import_sqlalchemy() -> None:
    code = "import sys, duetime, duetime.outcomes; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("missing", "module"), [("sqlalchemy", "duetime.effects"), ("greenlet", "duetime.effects.aio")]
)
def test_without_its_extra_the_error_names_it(missing: str, module: str) -> None:
    outcome = run_without(missing, f"import {module}")
    assert outcome.returncode == 1
    assert outcome.stderr.splitlines()[-1].endswith("pip install 'duetime[ledger]'")


def test_the_synchronous_ledger_needs_no_greenlet() -> None:
    outcome = run_without(
        "greenlet",
        "from sqlalchemy import create_engine; from duetime.effects import create_schema, prepare; "
        "create_schema(prepare(create_engine('sqlite://')))",
    )
    assert outcome.returncode == 0, outcome.stderr
