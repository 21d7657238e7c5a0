"""From the fields of a schedule as they are written to the rule they mean."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from duetime.contracts.explain import explain
from duetime.contracts.rule import RuleFields
from duetime.cron import Every, EveryDays, RuleError, fault_of, read_fields, read_rule


def fields(**written: Any) -> RuleFields:
    return RuleFields.model_validate(written)


def refused_shape(written: Any) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        RuleFields.model_validate(written)
    return [(fault["pointer"], fault["message"]) for fault in explain(caught.value, RuleFields, written)]


@pytest.mark.parametrize(
    ("written", "pointer", "said"),
    [
        ({}, "", "one of `cron`, `every` and `at`; given: none"),
        ({"cron": None}, "", "given: none"),
        ({"cron": "@daily", "every": "1h"}, "", "given: `cron` and `every`"),
        ({"cron": 5}, "/cron", "a cron line is a string"),
        ({"cron": {"minute": 0}}, "/cron", "a cron line is a string"),
        ({"cron": ["@daily", 5]}, "/cron/1", "a cron line is a string"),
        ({"every": True}, "/every", "not a duration"),
        ({"every": "soon"}, "/every", "not a duration"),
        ({"every": "P1M"}, "/every", "no fixed length"),
        ({"every": -5}, "/every", "negative"),
        ({"cron": "@daily", "offset": "1h"}, "/offset", "`every` only"),
        ({"at": "2027-01-01T00:00:00Z"}, "/at", "list"),
        ({"at": [5]}, "/at/0", "string"),
        ({"cron": "@daily", "dst": {"gap": "before"}}, "/dst/gap", "'after', 'skip'"),
        ({"cron": "@daily", "dst": {"fold": "first"}}, "/dst/fold", "unknown field"),
        ({"cron": "@daily", "exclude": "2026-12-25"}, "/exclude", "list"),
        ({"cron": "@daily", "exclude": ["2026-12-25", 5]}, "/exclude/1", "must be a date"),
        ({"cron": "@daily", "exclude": [{"cron": 5}]}, "/exclude/0", "must be a date"),
        ({"cron": "@daily", "exclude": [{"date": "2026-12-25"}]}, "/exclude/0", "must be a date"),
        ({"cron": "@daily", "exclude": [{"cron": "@daily", "tz": "UTC"}]}, "/exclude/0", "must be a date"),
        ({"cron": "@daily", "timezon": "UTC"}, "/timezon", "did you mean `timezone`?"),
    ],
)
def test_a_wrong_shape_is_one_fault_at_its_place(written: Any, pointer: str, said: str) -> None:
    ((where, message),) = refused_shape(written)
    assert where == pointer
    assert said in message


@pytest.mark.parametrize(
    ("written", "pointer", "said"),
    [
        ({"cron": "61 * * * *"}, "/cron", "minute: 61 is not in 0-59 (column 1)"),
        ({"cron": ["@daily", "0 22-2 * * *"]}, "/cron/1", "22-23,0-2"),
        ({"cron": "H * * * *"}, "/cron", "schedule's id"),
        ({"every": "1h", "offset": "1h"}, "/offset", "shorter than 'every'"),
        ({"every": "500ms"}, "/every", "whole seconds"),
        ({"cron": "@daily", "timezone": "Mars/Olympus"}, "/timezone", "unknown time zone"),
        ({"at": ["2027-01-01T00:00:00Z"], "timezone": "Europe/Pari"}, "/timezone", "Europe/Paris"),
        ({"at": ["2027-01-01T00:00:00"]}, "/at/0", "no offset"),
        ({"at": ["2027-01-01T00:00:00Z", "tomorrow"]}, "/at/1", "not an instant"),
        ({"at": ["2027-01-01T00:00:00.5Z"]}, "/at/0", "whole second"),
        ({"at": ["0001-01-01T00:00:00+14:00"], "timezone": "UTC"}, "/at/0", "1970"),
        ({"cron": "@daily", "start_at": "9999-12-31T23:59:59", "timezone": "America/New_York"}, "/start_at", "9999"),
        ({"cron": "@daily", "start_at": "2027-01-02T00:00:00Z", "end_at": "2027-01-01T00:00:00Z"}, "/end_at", "later"),
        ({"cron": "@daily", "exclude": ["25/12/2026"]}, "/exclude/0", "2026-12-25"),
        ({"cron": "@daily", "exclude": [{"cron": "* * 30 2 *"}]}, "/exclude/0/cron", "never fires"),
    ],
)  # fmt: skip
def test_a_wrong_meaning_is_told_with_its_pointer(written: Any, pointer: str, said: str) -> None:
    with pytest.raises(RuleError) as caught:
        read_fields(fields(**written))
    fault = fault_of(caught.value)
    assert fault["pointer"] == pointer
    assert said in fault["message"]


def test_the_column_of_a_cron_line_is_told_on_its_own() -> None:
    with pytest.raises(RuleError) as caught:
        read_fields(fields(cron=["@daily", "0 2 * * MON-FRY"]))
    assert fault_of(caught.value, "rule") == {
        "pointer": "/rule/cron/1",
        "message": "day of week: 'FRY' is not understood (column 13): write a number or a name such as SUN",
        "column": 13,
    }


def test_what_is_written_is_kept_to_the_letter() -> None:
    written = {
        "cron": ["0  2 * * mon-fri # nightly", "@Daily"],
        "timezone": "America/New_York",
        "dst": {"gap": "skip"},
        "exclude": ["2026-12-25", {"cron": "* * 24-31 12 *"}],
        "start_at": "2027-01-01T00:00:00",
    }
    assert fields(**written).rule_fields() == written
    assert fields(every=90.0).rule_fields() == {"every": 90.0}
    assert isinstance(fields(every=90).every, int)


def test_fields_mean_the_rule_they_spell() -> None:
    written = fields(
        cron="H 2 * * *",
        timezone="Europe/Paris",
        dst={"gap": "skip", "overlap": "both"},
        exclude=["2026-12-25", {"cron": "* * 24-31 12 *"}],
        end_at="2027-01-01T00:00:00+01:00",
    )
    assert read_fields(written, "nightly") == read_rule(
        cron="H 2 * * *",
        timezone="Europe/Paris",
        gap="skip",
        overlap="both",
        exclude=["2026-12-25", {"cron": "* * 24-31 12 *"}],
        end_at=datetime(2026, 12, 31, 23, tzinfo=UTC),
        schedule_id="nightly",
    )


def test_a_day_in_a_zone_is_a_day_and_a_day_in_hours_is_not() -> None:
    assert isinstance(read_fields(fields(every="1d", timezone="Europe/Paris")).lines[0], EveryDays)
    assert isinstance(read_fields(fields(every="24h", timezone="Europe/Paris")).lines[0], Every)
    assert isinstance(read_fields(fields(every="1d")).lines[0], Every)


def test_wall_times_are_those_of_the_rule_s_zone() -> None:
    rule = read_fields(fields(cron="@daily", timezone="Europe/Paris", start_at="2027-07-01T00:00:00"))
    assert rule.start_at == datetime(2027, 6, 30, 22, tzinfo=UTC)
    skipped = fields(at=["2027-03-28T02:30:00", "2027-03-28T02:30:00Z"], timezone="Europe/Paris")
    times = [datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 3, 28, 2, 30, tzinfo=UTC)]
    assert read_fields(skipped) == read_rule(at=times, timezone="Europe/Paris")
