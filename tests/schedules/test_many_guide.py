"""docs/many-schedules.md: its examples are taken, its bounds and its fields are the real ones."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import typer

from duetime.cli.main import app
from duetime.contracts import limits
from duetime.contracts.forecast import ForecastView
from duetime.contracts.schedule_sets import AppliedView, ScheduleSet
from duetime.schedules.forecast import MOST_STARTS, NAMED, PEAKS

GUIDE = (Path(__file__).parents[2] / "docs" / "many-schedules.md").read_text()
TEXT = " ".join(GUIDE.split())


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_example_is_a_set() -> None:
    (example,) = blocks("json")
    wanted = ScheduleSet.model_validate(json.loads(example))
    assert (wanted.prune, wanted.dry_run, len(wanted.schedules)) == (True, True, 1)


def test_the_fields_of_the_answers_are_told() -> None:
    for name in AppliedView.model_fields.keys() - {"dry_run"}:
        assert f"`{name}`" in GUIDE, name
    for name in ("minutes", "peaks", "flatter", "paused", "unreadable"):
        assert name in ForecastView.model_fields
        assert re.search(rf"^\| .*`{name}`", GUIDE, re.MULTILINE), name


def test_bounds_are_the_real_ones() -> None:
    assert (PEAKS, NAMED, MOST_STARTS, limits.APPLIED_SCHEDULES) == (10, 20, 1_000_000, 2_000)
    for said in (
        f"(up to {limits.FORECAST_HOURS})",
        "the ten fullest",
        "the ids of twenty",
        "More than a million starts",
        "Up to 2,000 schedules",
    ):
        assert said in TEXT, said


def test_every_command_that_is_shown_exists_with_its_options() -> None:
    group: Any = typer.main.get_command(app)
    shown = [
        shlex.split(line, comments=True)
        for block in blocks("sh")
        for line in re.findall(r"duetime schedules ([^|>\n]*)", block)
    ]
    assert len(shown) == 4
    for command, *words in shown:
        found = group.commands["schedules"].commands[command]
        known = {option for param in found.params for option in param.opts}
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= known
