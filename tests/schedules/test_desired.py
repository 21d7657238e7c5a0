"""From the schedules that are there to those that are to be."""

from typing import Any

import pytest
from pydantic import ValidationError

from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_sets import NamedSchedule, ScheduleSet
from duetime.schedules.desired import Difference, differences, steps_to


def spec(**fields: Any) -> ScheduleSpec:
    return ScheduleSpec.model_validate({"cron": "0 2 * * *", "job": {"kind": "report.build"}} | fields)


def test_a_thousand_of_which_ten_changed_and_five_are_gone() -> None:
    current = {f"schedule-{number}": spec(note=str(number)) for number in range(1_005)}
    desired = dict(list(current.items())[:1_000])
    for number in range(0, 100, 10):
        desired[f"schedule-{number}"] = spec(note=str(number), cron="0 3 * * *")
    kept = steps_to(desired, current, prune=False)
    assert (kept.created, kept.pruned) == ([], [])
    steps = steps_to(desired, current, prune=True)
    assert list(steps.changed) == [f"schedule-{number}" for number in range(0, 100, 10)]
    assert {tuple(found) for found in steps.changed.values()} == {
        (Difference("/cron", "0 2 * * *", "0 3 * * *"),)
    }
    assert len(steps.unchanged) == 990
    assert steps.pruned == [f"schedule-{number}" for number in range(1_000, 1_005)]
    assert steps_to(desired, desired, prune=True).changed == {}


def test_new_ones_come_in_the_order_they_were_given() -> None:
    steps = steps_to({"b": spec(), "a": spec(), "c": spec()}, {"c": spec(), "d": spec()}, prune=False)
    assert (steps.created, steps.unchanged, steps.pruned) == (["b", "a"], ["c"], [])


def test_a_default_that_is_spelled_out_and_another_spelling_make_no_difference() -> None:
    assert differences(spec(), spec(overlap="skip", dst={"gap": "after"}, exclude=[], paused=False)) == []
    assert differences(spec(jitter="90s"), spec(jitter="1m30s")) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"timezone": "Europe/Paris"}, Difference("/timezone", None, "Europe/Paris")),
        ({"jitter": "2m"}, {}, Difference("/jitter", "2m", None)),
        ({"dst": {"gap": "skip"}}, {"dst": {"overlap": "last"}}, None),
        ({}, {"job": {"kind": "report.build", "payload": {"a/b": 1}}}, Difference("/job/payload", None, {"a/b": 1})),
        (
            {"job": {"kind": "k", "payload": {"a/b": 1}}},
            {"job": {"kind": "k", "payload": {"a/b": 2}}},
            Difference("/job/payload/a~1b", 1, 2),
        ),
        (
            {"job": {"kind": "k", "payload": {"n": 1}}},
            {"job": {"kind": "k", "payload": {"n": True}}},
            Difference("/job/payload/n", 1, True),
        ),
        ({"exclude": ["2026-12-25"]}, {"exclude": []}, Difference("/exclude", ["2026-12-25"], None)),
        ({"cron": "@daily"}, {"cron": "0 0 * * *"}, Difference("/cron", "@daily", "0 0 * * *")),
    ],
)  # fmt: skip
def test_what_differs_is_told_field_by_field(
    before: dict[str, Any], after: dict[str, Any], expected: Difference | None
) -> None:
    found = differences(spec(**before), spec(**after))
    if expected is None:
        assert found == [Difference("/dst/gap", "skip", None), Difference("/dst/overlap", None, "last")]
    else:
        assert found == [expected]


def test_a_named_schedule_gives_back_what_was_sent() -> None:
    sent = {"id": "a", "cron": "0  2 * * *", "job": {"kind": "k", "payload": {"x": None}}}
    assert NamedSchedule.model_validate(sent).spec() == {name: sent[name] for name in ("cron", "job")}
    with pytest.raises(ValidationError, match="prune"):
        ScheduleSet.model_validate({"schedules": [], "prune": 1})
