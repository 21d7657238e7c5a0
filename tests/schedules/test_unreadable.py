"""A rule that was kept and cannot be read any more takes down neither the list nor the forecast."""

from datetime import UTC, datetime
from typing import Any

from api.doctor.schedules import examine_schedules
from api.schedules.forecasting import _foreseen
from api.schedules.views import summary_of, view_of
from duetime.contracts.schedule_book import Book, Put, Server
from duetime.contracts.schedule_view import ScheduleLinks, ScheduleState
from duetime.doctor.findings import Severity
from duetime.schedules.changes import created

NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)
LINKS = ScheduleLinks(self="/", jobs="/", occurrences="/", temporal="/")


def book(name: str, **spec: Any) -> Book:
    whole = {"cron": "0 * * * *", "job": {"kind": "echo"}} | spec
    made = created(Put(id=name, spec=whole, job={"kind": "echo"}, in_words="hourly", by="anybody"), NOW)
    if "timezone" not in spec:
        return made
    # As after an update of the database that dropped the zone.
    gone = {**whole, "timezone": "Mars/Olympus"}
    rules = [
        one.model_copy(update={"rule": {**one.rule, "timezone": "Mars/Olympus"}}) for one in made.revisions
    ]
    return made.model_copy(update={"spec": gone, "revisions": rules})


def test_it_is_told_on_the_schedule_itself() -> None:
    bad = book("bad", timezone="Europe/Paris", note="for the board")
    summary = summary_of(bad, NOW)
    assert (summary.state, summary.next_at, summary.note) == (ScheduleState.ACTIVE, None, "for the board")
    assert summary.fault is not None
    assert "unknown time zone 'Mars/Olympus'" in summary.fault
    view = view_of(bad, Server(exists=True), [], None, NOW, LINKS)
    assert (view.next, view.warnings) == ([], [summary.fault])


def test_the_doctor_names_it() -> None:
    both = [summary_of(book("good"), NOW), summary_of(book("bad", timezone="Europe/Paris"), NOW)]
    (told,) = examine_schedules(both, NOW)
    assert told.severity is Severity.ERROR and "`bad` does not fire" in told.says
    assert (
        "unknown time zone 'Mars/Olympus'" in told.says and told.fix == "put it again: PUT /v1/schedules/bad"
    )


def test_the_others_go_on() -> None:
    good = summary_of(book("good"), NOW)
    assert (good.fault, good.state) == (None, ScheduleState.ACTIVE)
    assert good.next_at == datetime(2027, 1, 15, 9, tzinfo=UTC)
    seen = _foreseen([book("bad", timezone="Europe/Paris"), book("good")], NOW, 2)
    assert (seen.schedules, seen.unreadable, seen.starts) == (1, ["bad"], 2)
