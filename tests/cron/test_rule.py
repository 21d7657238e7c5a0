"""The fields of a schedule that say when it fires, read together."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import duetime.cron
from duetime.cron import Cron, CronError, Every, Rule, RuleError, ZoneError, in_words, read_rule
from duetime.cron.rule import MAX_EXCLUDED, MAX_EXCLUDED_LINES, MAX_INSTANTS, MAX_LINES

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def refused(**rule: Any) -> RuleError:
    with pytest.raises(RuleError) as caught:
        read_rule(**rule)
    return caught.value


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({}, ()),
        ({"cron": "@daily", "every": "1h"}, ("cron",)),
        ({"every": "1h", "at": [NOON]}, ("every",)),
        ({"cron": "@daily", "offset": "1h"}, ("offset",)),
        ({"cron": "61 * * * *"}, ("cron",)),
        ({"cron": ["@daily", "61 * * * *"]}, ("cron", 1)),
        ({"cron": []}, ("cron",)),
        ({"cron": ["@daily"] * (MAX_LINES + 1)}, ("cron",)),
        ({"cron": "@daily", "timezone": "Mars/Olympus"}, ("timezone",)),
        ({"cron": "@daily", "timezone": ""}, ("timezone",)),
        ({"cron": "@daily", "gap": "before"}, ("dst", "gap")),
        ({"cron": "@daily", "overlap": "none"}, ("dst", "overlap")),
        ({"cron": "@daily", "exclude": ["2026-02-30"]}, ("exclude", 0)),
        ({"cron": "@daily", "exclude": ["2026-12-25", "Christmas"]}, ("exclude", 1)),
        ({"cron": "@daily", "exclude": ["2026-12-25T00:00:00"]}, ("exclude", 0)),
        ({"cron": "@daily", "exclude": [NOON]}, ("exclude", 0)),
        ({"cron": "@daily", "exclude": [{"cron": "* * 30 2 *"}]}, ("exclude", 0, "cron")),
        ({"cron": "@daily", "exclude": [{"cron": "@every 5m"}]}, ("exclude", 0, "cron")),
        ({"cron": "@daily", "exclude": [{"date": "2026-12-25"}]}, ("exclude", 0)),
        ({"cron": "@daily", "exclude": ["2026-12-25"] * (MAX_EXCLUDED + 1)}, ("exclude",)),
        ({"cron": "@daily", "exclude": [{"cron": "@daily"}] * (MAX_EXCLUDED_LINES + 1)}, ("exclude",)),
        ({"cron": "@daily", "start_at": datetime(2026, 1, 1)}, ("start_at",)),
        ({"cron": "@daily", "start_at": NOON, "end_at": NOON}, ("end_at",)),
        (
            {"cron": "@daily", "end_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))},
            ("end_at",),
        ),
        ({"at": []}, ("at",)),
        ({"at": [NOON] * (MAX_INSTANTS + 1)}, ("at",)),
        ({"at": [NOON, datetime(2026, 1, 1)]}, ("at", 1)),
        ({"at": [NOON + timedelta(milliseconds=500)]}, ("at", 0)),
    ],
)
def test_a_faulty_field_is_named(rule: dict[str, Any], path: tuple[str | int, ...]) -> None:
    error = refused(**rule)
    assert error.path == path
    assert str(error)


def test_errors_are_of_one_family() -> None:
    assert isinstance(refused(cron="61 * * * *"), CronError)
    assert isinstance(refused(cron="@daily", timezone="Paris"), ZoneError)
    assert issubclass(RuleError, ValueError)


def test_a_fault_in_a_list_keeps_its_column() -> None:
    error = refused(cron=["@daily", "0 22-2 * * *"])
    assert isinstance(error, CronError)
    assert (error.column, error.token) == (3, "22-2")


def test_warnings_of_lines_and_zone_come_together() -> None:
    rule = read_rule(cron=["*/90 * * * *", "0 0 31 * *"], timezone="EST")
    zone, minutes, months = rule.warnings
    assert "America/New_York" in zone
    assert minutes.startswith("*/90 * * * *: ")
    assert months.startswith("0 0 31 * *: ")


def test_the_same_line_twice_is_one() -> None:
    assert len(read_rule(cron=["@daily", "@daily", "@hourly"]).lines) == 2


def test_instants_are_kept_in_utc() -> None:
    rule = read_rule(cron="@daily", start_at=datetime.fromisoformat("2026-06-01T14:00:00+02:00"))
    assert rule.start_at == NOON
    assert rule.start_at.tzinfo is UTC


def test_rules_are_values() -> None:
    fields: dict[str, Any] = {"cron": "0 2 * * *", "timezone": "Europe/Paris", "exclude": ["2026-12-25"]}
    assert read_rule(**fields) == read_rule(**fields)
    assert len({read_rule(**fields), read_rule(**fields)}) == 1
    assert isinstance(read_rule(**fields), Rule)


def test_hashed_lines_need_the_schedule_s_id() -> None:
    assert "id" in str(refused(cron="H 2 * * *"))
    (line,) = read_rule(cron="H 2 * * *", schedule_id="a").lines
    assert isinstance(line, Cron)
    assert read_rule(cron="@daily", exclude=[{"cron": "H * * * *"}], schedule_id="a").exclude.lines


def test_a_zone_makes_no_difference_to_exact_spans() -> None:
    assert read_rule(every="90m", timezone="Europe/Paris").lines == (Every("90m", 5_400),)


def test_reading_a_rule_imports_nothing_of_temporal() -> None:
    import subprocess
    import sys

    code = "import sys, duetime.cron; print([name for name in sys.modules if name.startswith('temporalio')])"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "[]"


def test_the_public_names() -> None:
    assert sorted(duetime.cron.__all__) == sorted(
        {name for name in vars(duetime.cron) if not name.startswith("_")} - _modules()
    )
    assert in_words is duetime.cron.in_words


def _modules() -> set[str]:
    from types import ModuleType

    return {name for name, value in vars(duetime.cron).items() if isinstance(value, ModuleType)}
