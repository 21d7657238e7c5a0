"""Events, as they are made of what a job is."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duetime.contracts.events import Moment
from duetime.contracts.states import AttemptOutcome, State
from duetime.contracts.view import AttemptView, ErrorView, JobView, LeaseView, Links, ProgressView

_AT = datetime(2027, 1, 15, 9, 0, tzinfo=UTC)


def job(**fields: Any) -> JobView:
    base: dict[str, Any] = {
        "id": "reminder-4711",
        "run_id": "run-1",
        "kind": "reminder.send",
        "queue": "default",
        "state": State.RUNNING,
        "payload": {"to": "a@example.org"},
        "created_at": _AT,
        "due_at": _AT,
        "max_attempts": 5,
        "attempts": [AttemptView(number=1, outcome=AttemptOutcome.RUNNING)],
        "progress": ProgressView(done=1, total=10),
        "links": Links(self="/v1/jobs/reminder-4711", temporal="http://ui.test"),
    }
    return JobView.model_validate(base | fields)


def parse(event: bytes | None) -> dict[str, str]:
    """The fields of one event, which is one block of lines."""
    assert event is not None
    assert event.endswith(b"\n\n")
    lines = event.decode().removesuffix("\n\n").split("\n")
    fields = dict(line.split(": ", 1) for line in lines)
    assert len(fields) == len(lines)
    return fields


def changes() -> Iterator[tuple[str, JobView]]:
    failed = AttemptView(number=1, outcome=AttemptOutcome.FAILED)
    yield "state", job(state=State.RETRYING, attempts=[failed], next_attempt_at=_AT)
    yield "state", job(state=State.RETRYING, attempts=[failed], next_attempt_at=_AT + timedelta(seconds=1))
    yield "state", job(attempts=[failed, AttemptView(number=2, outcome=AttemptOutcome.RUNNING)])
    yield "state", job(run_id="run-2")
    yield "state", job(priority=1)
    yield "state", job(due_at=_AT + timedelta(hours=1))
    yield "progress", job(progress=ProgressView(done=2, total=10))
    yield "progress", job(progress=ProgressView(done=1, total=10, message="slow"))
    yield "progress", job(progress=None)
    for state in (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.EXPIRED, State.SKIPPED):
        yield "done", job(state=state)


@pytest.mark.parametrize(("name", "changed"), list(changes()))
def test_what_people_wait_for_is_news(name: str, changed: JobView) -> None:
    before, after = Moment(job()), Moment(changed)
    assert before.id != after.id
    assert parse(after.since(before.id))["event"] == name


@pytest.mark.parametrize(
    "changed",
    [
        job(late_by=timedelta(seconds=3)),
        job(lease=LeaseView(worker="w", fencing_token=1, acquired_at=_AT, expires_at=_AT)),
    ],
)
def test_what_only_time_changes_is_no_news(changed: JobView) -> None:
    assert Moment(changed).since(Moment(job()).id) is None


def test_who_has_seen_nothing_is_told_where_the_job_stands() -> None:
    for unknown in (None, "", "x", "aaaaaaaaaaaa.bbbbbbbbbbbb"):
        assert parse(Moment(job()).since(unknown))["event"] == "state"
        assert parse(Moment(job(state=State.FAILED)).since(unknown))["event"] == "done"


def test_an_event_carries_the_job_on_one_line() -> None:
    error = ErrorView(type="E", message="two\nlines\r\u2028", stack="Traceback …")
    event = parse(Moment(job(error=error, checkpoint={"at": 7})).since(None))
    told = json.loads(event["data"])
    assert (told["state"], told["progress"]["done"], told["error"]["message"]) == (
        "running",
        1,
        error.message,
    )
    assert "payload" not in told and "checkpoint" not in told and told["error"]["stack"] is None
    whole = json.loads(parse(Moment(job(state=State.SUCCEEDED, result="two\nlines")).since(None))["data"])
    assert (whole["result"], whole["payload"]) == ("two\nlines", {"to": "a@example.org"})
