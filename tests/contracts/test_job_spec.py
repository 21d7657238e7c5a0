"""A job as it is submitted: what is accepted, and how each refusal names its bound and its field."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from duetime.contracts.explain import explain, one_line
from duetime.contracts.job import JobSpec, Retry, spread_offset

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def faults_of(**fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        JobSpec.model_validate({"kind": "noop", **fields})
    return {fault["pointer"]: fault["message"] for fault in explain(refused.value, JobSpec)}


@pytest.mark.parametrize(
    ("fields", "pointer", "bound"),
    [
        ({"kind": ""}, "/kind", "at least 1"),
        ({"kind": "k" * 101}, "/kind", "at most 100"),
        ({"kind": "a b"}, "/kind", "may hold letters, digits and"),
        ({"kind": "a\n"}, "/kind", "may hold letters, digits and"),
        ({"kind": "é"}, "/kind", "may hold letters, digits and"),
        ({"kind": "\ud800"}, "/kind", "must be a string"),
        ({"kind": 5}, "/kind", "must be a string"),
        ({"id": ""}, "/id", "at least 1"),
        ({"id": "i" * 201}, "/id", "at most 200"),
        ({"id": "."}, "/id", 'cannot be "." or ".."'),
        ({"id": ".."}, "/id", 'cannot be "." or ".."'),
        ({"id": "a~b"}, "/id", "may hold letters, digits and"),
        ({"id": "a/b"}, "/id", "may hold letters, digits and"),
        ({"queue": "q" * 201}, "/queue", "at most 200"),
        ({"queue": "duetime"}, "/queue", "reserved"),
        ({"queue": "duetime-x"}, "/queue", "reserved"),
        ({"payload": []}, "/payload", "must be an object"),
        ({"payload": None}, "/payload", "must be an object"),
        ({"priority": 0}, "/priority", "at least 1"),
        ({"priority": 6}, "/priority", "at most 5"),
        ({"priority": 10**400}, "/priority", "at most 5"),
        ({"priority": "3"}, "/priority", "must be a whole number"),
        ({"priority": True}, "/priority", "must be a whole number"),
        ({"priority": 3.0}, "/priority", "must be a whole number"),
        ({"fairness_key": ""}, "/fairness_key", "at least 1"),
        ({"fairness_key": "é" * 33}, "/fairness_key", "at most 64 bytes"),
        ({"fairness_key": "a\x07"}, "/fairness_key", "control character"),
        ({"fairness_weight": 0.0001}, "/fairness_weight", "0.001"),
        ({"fairness_weight": 1000.5}, "/fairness_weight", "1,000"),
        ({"fairness_weight": float("nan")}, "/fairness_weight", "finite"),
        ({"fairness_weight": 10**400}, "/fairness_weight", "must be a number"),
        ({"fairness_weight": "1"}, "/fairness_weight", "must be a number"),
        ({"tags": ["x"] * 21}, "/tags", "at most 20"),
        ({"tags": ["x" * 65]}, "/tags/0", "at most 64"),
        ({"tags": ["ok", ""]}, "/tags/1", "at least 1"),
        ({"tags": ["a\nb"]}, "/tags/0", "control character"),
        ({"tags": "x"}, "/tags", "must be a list"),
        ({"timeout": "0s"}, "/timeout", "from 1s to 366d"),
        ({"timeout": "400d"}, "/timeout", "from 1s to 366d"),
        ({"timeout": 10**400}, "/timeout", "longer than 100 years"),
        ({"timeout": "P1M"}, "/timeout", "no fixed length"),
        ({"lease": "1s"}, "/lease", "from 2s to 1h"),
        ({"lease": "61m"}, "/lease", "from 2s to 1h"),
        ({"queue_timeout": 0}, "/queue_timeout", "from 1s to 366d"),
        ({"deadline": 0.5}, "/deadline", "from 1s to 366d"),
        ({"spread": "25h"}, "/spread", "from 0s to 1d"),
        ({"delay": -1}, "/delay", "negative"),
        ({"delay": True}, "/delay", "not a duration"),
        ({"delay": None, "run_at": "soon"}, "/run_at", "not an instant"),
        ({"run_at": "2027-01-15T09:00:00"}, "/run_at", "no offset"),
        ({"run_at": "2027-01-15T09:00:00Z", "timezone": "Europe/Paris"}, "/run_at", "leave out one"),
        ({"run_at": "2027-01-15T09:00:00", "timezone": "Mars"}, "/timezone", "unknown time zone"),
        ({"run_at": "2027-01-15T09:00:00Z", "delay": "1s"}, "", "both say when"),
        ({"timezone": "Europe/Paris"}, "", "only goes with"),
        ({"retry": {"max_attempts": 0}}, "/retry/max_attempts", "at least 1"),
        ({"retry": {"max_attempts": 1001}}, "/retry/max_attempts", "at most 1,000"),
        ({"retry": {"backoff": 0.5}}, "/retry/backoff", "at least 1"),
        ({"retry": {"backoff": 101}}, "/retry/backoff", "at most 100"),
        ({"retry": {"jitter": 1.5}}, "/retry/jitter", "at most 1"),
        ({"retry": {"jitter": True}}, "/retry/jitter", "must be a number"),
        ({"retry": {"initial_interval": "367d"}}, "/retry/initial_interval", "to 366d"),
        ({"retry": {"max_interval": "367d"}}, "/retry/max_interval", "to 366d"),
        ({"retry": {"non_retryable": ["x"] * 51}}, "/retry/non_retryable", "at most 50"),
        ({"retry": {"non_retryable": ["x" * 201]}}, "/retry/non_retryable/0", "at most 200"),
        ({"retry": None}, "/retry", "must be an object"),
    ],
)
def test_each_refusal_names_its_field_and_its_bound(fields: dict[str, Any], pointer: str, bound: str) -> None:
    faults = faults_of(**fields)
    assert bound in faults[pointer]
    one_line([{"pointer": pointer, "message": faults[pointer]}]).encode()


def test_a_missing_kind() -> None:
    with pytest.raises(ValidationError) as refused:
        JobSpec.model_validate({})
    assert one_line(explain(refused.value, JobSpec)) == "/kind: is required"


@pytest.mark.parametrize("value", [None, [], "noop", 5, True])
def test_what_is_no_object_at_all(value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        JobSpec.model_validate(value)
    assert one_line(explain(refused.value, JobSpec)).startswith("the job: ")


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({"pririty": 1}, "/pririty", "did you mean `priority`?"),
        ({"retries": 1}, "/retries", "did you mean `retry`?"),
        ({"retry": {"max_attempt": 1}}, "/retry/max_attempt", "did you mean `max_attempts`?"),
        ({"xyzzy": 1}, "/xyzzy", "known are `timezone`"),
    ],
)
def test_an_unknown_field_comes_with_the_nearest_name(
    fields: dict[str, Any], pointer: str, message: str
) -> None:
    assert message in faults_of(**fields)[pointer]


def test_the_line_of_faults_stays_short_however_many_there_are() -> None:
    fields = {f"unknown-{number}" + "y" * 10_000: number for number in range(3_000)}
    with pytest.raises(ValidationError) as refused:
        JobSpec.model_validate({"kind": "noop", **fields})
    faults = explain(refused.value, JobSpec)
    assert len(faults) == 101 and faults[-1]["message"] == "and 2,900 more faults"
    line = one_line(faults)
    assert line.endswith("; and more") and len(line) < 10_000


@pytest.mark.parametrize(
    ("fields", "due"),
    [
        ({}, NOW),
        ({"delay": "15m"}, NOW + timedelta(minutes=15)),
        ({"delay": 0}, NOW),
        ({"run_at": "2027-01-15T09:00:00+01:00"}, datetime(2027, 1, 15, 8, tzinfo=UTC)),
        ({"run_at": "2020-01-01T00:00:00Z"}, datetime(2020, 1, 1, tzinfo=UTC)),
        (
            {"run_at": "2027-07-15T09:00:00", "timezone": "Europe/Paris"},
            datetime(2027, 7, 15, 7, tzinfo=UTC),
        ),
    ],
)
def test_due_times(fields: dict[str, Any], due: datetime) -> None:
    assert JobSpec.model_validate({"kind": "noop", **fields}).due_at("a", NOW) == due


@pytest.mark.parametrize("fields", [{"delay": "2000d"}, {"run_at": "2033-01-01T00:00:00Z"}])
def test_more_than_five_years_ahead(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="more than five years ahead"):
        JobSpec.model_validate({"kind": "noop", **fields}).due_at("a", NOW)


@given(st.text(), st.timedeltas(timedelta(0), timedelta(days=1)))
def test_spread_is_the_same_for_one_id_and_within_its_span(job_id: str, span: timedelta) -> None:
    try:
        job_id.encode()
    except UnicodeEncodeError:
        return
    offset = spread_offset(job_id, span)
    assert offset == spread_offset(job_id, span)
    assert timedelta(0) <= offset <= span


def test_spread_is_even_and_stays_as_it_was() -> None:
    span = timedelta(seconds=100)
    offsets = [spread_offset(f"job-{number}", span) / span for number in range(2_000)]
    for tenth in range(10):
        assert 140 < sum(tenth <= offset * 10 < tenth + 1 for offset in offsets) < 260
    # A change of the hash would move every job that waits: this value is a promise.
    assert spread_offset("reminder-4711", timedelta(days=1)) == timedelta(
        seconds=54_139, microseconds=968_528
    )


def test_a_settled_job_names_its_due_time_as_one_instant() -> None:
    spec = JobSpec.model_validate(
        {"kind": "noop", "run_at": "2027-07-15T09:00:00", "timezone": "Europe/Paris", "spread": "1h"}
    )
    settled = spec.settled("a", NOW)
    assert settled.due_at("a", NOW) == spec.due_at("a", NOW)
    assert settled.due_at("other", NOW + timedelta(days=1)) == spec.due_at("a", NOW)
    assert settled.compact().keys() == {"kind", "run_at"}
    assert JobSpec.model_validate(settled.compact()) == settled


def test_what_a_job_says_comes_back_from_its_compact_form() -> None:
    spec = JobSpec.model_validate(
        {
            "kind": "a/b:c.d-e_f",
            "payload": {"n": 2**70, "deep": [{"x": None}], "nul": "\x00", "t": "😀"},
            "retry": {"max_attempts": 7, "initial_interval": "1m30s", "non_retryable": ["X"]},
            "timeout": 90.5,
            "lease": "PT1M",
            "fairness_key": "tenant",
            "fairness_weight": 2,
            "tags": ["a", "b"],
        }
    )
    assert JobSpec.model_validate(spec.compact()) == spec
    assert spec.compact()["timeout"] == "1m30.5s"


def test_retry_defaults_are_those_of_the_documentation() -> None:
    assert Retry().model_dump(mode="json") == {
        "max_attempts": 5,
        "initial_interval": "1s",
        "backoff": 2.0,
        "max_interval": "5m",
        "jitter": 0.1,
        "non_retryable": [],
    }
