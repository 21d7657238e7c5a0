"""What became of each time, which were missed, and what is kept: pure functions, in any hour of any year."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.schedules.runs import with_recent
from api.doctor.schedules import examine_schedules
from api.schedules.views import summary_of
from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_book import (
    KEPT_PAUSES,
    KEPT_REVISIONS,
    Book,
    PauseSpan,
    Put,
    Server,
    SkippedTime,
    Started,
)
from duetime.contracts.states import State
from duetime.cron.reading import read_fields
from duetime.schedules import changes
from duetime.schedules.account import Seen, account
from duetime.schedules.grace import grace_of, server_window
from duetime.schedules.ids import run_id
from duetime.schedules.missed import Run, is_over, judge, judge_edit, settled_until, unstarted
from duetime.schedules.times import upcoming

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def at(minutes: float) -> datetime:
    """So long after noon."""
    return NOON + minutes * MINUTE


def put(**fields: Any) -> Put:
    rule = {} if fields.keys() & {"every", "at", "cron"} else {"cron": "* * * * *"}
    job = {"kind": "noop"}
    return Put(id="s", spec={**rule, **fields, "job": job}, job=job, by="anna")


def book(since: float = -60, **fields: Any) -> Book:
    return changes.created(put(**fields), at(since)).model_copy(update={"applied": 1})


def run(minutes: float, ends: float | None, *, nominal: float | None = None) -> Run:
    """The run of a time, that starts at it and ends at `ends`."""
    named = at(minutes if nominal is None else nominal)
    closed = at(ends) if ends is not None else None
    return Run(run_id("s", named), named, at(minutes), closed, State.SUCCEEDED if closed else State.RUNNING)


def states(kept: Book, runs: list[Run], now: float, since: float, until: float, **told: Any) -> list[str]:
    server, remembered = Server(exists=True, **told), timedelta(days=7)
    seen = Seen(kept, server, runs, at(now), at(now) - remembered)
    return [row.state.value for row in account(seen, at(since), at(until), 1000)]


def test_every_time_has_the_row_that_it_deserves() -> None:
    kept = book(exclude=[{"cron": "3 12 * * *"}])
    kept = changes.skipping(kept, SkippedTime(at=at(4), by="anna"))
    pause = PauseSpan(since=at(5.5), reason="deploy", by="anna")
    kept = changes.resumed(changes.paused(kept, pause), at(6.5))
    runs = [run(0, 2.5), run(2.75, 2.9, nominal=9)]
    kept = kept.model_copy(update={"server_window": 60.0})
    found = states(kept, runs, now=7.9, since=0, until=9)
    assert found == [
        "fired",
        "skipped_overlap",
        "skipped_overlap",
        "excluded",
        "excluded",
        "missed",
        "paused",
        "upcoming",  # within the grace: the server may still start it
        "upcoming",
        "fired",
    ]


def test_what_waits_is_queued_and_what_nobody_remembers_is_unknown() -> None:
    kept = book(since=-60 * 24 * 30, cron="0 12 * * *", overlap="queue_all")
    runs = [run(-3 * 1440, None)]
    assert states(kept, runs, now=30, since=-9 * 1440, until=1440, queued=2) == [
        *["unknown"] * 3,
        *["missed"] * 3,
        "fired",
        "skipped_overlap",
        "queued",
        "queued",
        "upcoming",
    ]


def test_each_revision_counts_for_as_long_as_it_was_in_force() -> None:
    kept = changes.replaced(book(), put(every="2m"), at(3.5))
    kept = changes.replaced(kept, put(every="2m", note="the rule is the same"), at(4.5))
    assert len(kept.revisions) == 2 and kept.revision == 3
    seen = Seen(kept, Server(), [], at(9), at(-900))
    rows = account(seen, at(0), at(8), 1000)
    assert [(row.nominal_time - NOON) // MINUTE for row in rows] == [0, 1, 2, 3, 4, 6, 8]


def test_before_it_was_made_there_is_nothing() -> None:
    assert states(book(since=1.5), [], now=10, since=0, until=3) == ["missed"] * 2


@pytest.mark.parametrize(
    ("policy", "overlap", "runs", "expected"),
    [
        ("all", "skip", [], [1, 2, 3, 4, 5]),
        ("all", "skip", [run(0, 2.5)], [3, 4, 5]),
        ("all", "allow", [run(0, 2.5)], [1, 2, 3, 4, 5]),
        ("all", "cancel_running", [run(0, 2.5), run(4, 4.1)], [1, 2, 3, 5]),
        ("latest", "allow", [], []),  # 12:06 came while the server was back
        ("none", "allow", [], []),
    ],
)
def test_what_is_made_up(policy: str, overlap: str, runs: list[Run], expected: list[int]) -> None:
    kept = book(overlap=overlap, catch_up={"policy": policy}).model_copy(update={"judged_until": at(0)})
    found = judge(kept, kept.parsed, at(5.5), at(6.2), runs)
    assert [(time - NOON) // MINUTE for time in found.times] == expected
    assert found.judged_until == at(5.5)


def test_where_the_server_begins_with_the_oldest_the_others_are_those_of_its_absence() -> None:
    """12:01 to 12:05 came while it was away; 12:08 was a moment late, and 12:09 met a run."""
    kept = book(catch_up={"window": "20m"}).model_copy(
        update={"judged_until": at(0), "server_window": 1200.0}
    )
    first, late = run(5.5, 5.6, nominal=1), run(7.1, 7.9, nominal=7)
    runs = [run(0, 0.5), first, run(6, 6.5), late, run(9, 12)]

    def made_up(seen: list[Run], until: float) -> list[int]:
        found = judge(kept, kept.parsed, at(until), at(until + 1), seen)
        return [(time - NOON) // MINUTE for time in found.times]

    assert made_up(runs, 9.5) == [2, 3, 4, 5]
    assert made_up([*runs, run(6.7, 6.8, nominal=2)], 9.5) == [3, 4, 5], (
        "what was made up is late, and no gap"
    )
    assert made_up([run(0, 5.6), run(6, 6.5), late], 7.5) == [], "a run was in the way of all"
    assert made_up([run(0, 0.5), run(4.1, 5.6, nominal=1)], 5.5) == [2, 3, 4]


def test_a_gap_is_over_when_its_end_is_old_enough_to_judge() -> None:
    spec, runs = book().parsed, [run(5.5, 5.6, nominal=1), run(6, None)]
    assert [is_over(spec, runs, at(minutes)) for minutes in (1, 5.4, 5.5, 7)] == [False, False, True, True]
    assert is_over(spec, [run(5.1, 5.2, nominal=5)], at(0)), "a moment late is no gap"
    assert is_over(book(jitter="5m").parsed, runs, at(0)), "jitter alone may be as late"


def test_a_count_that_goes_on_growing_asks_for_no_look_of_its_own() -> None:
    noticed = changes.judged(book(), at(0), 3, at(1), timedelta(seconds=12))
    for kept in (book(), noticed):
        found = changes.settled(kept, at(2), 9)
        assert (found.judged_until, found.missed_seen, found.noticed_at, found.look_at) == (
            at(2),
            9,
            None,
            None,
        )


def test_a_count_that_has_skipped_times_in_it() -> None:
    server = Server(missed=2, skipped=3)
    kept, short = (book().model_copy(update={"server_window": window}) for window in (3600.0, 60.0))
    assert unstarted(kept, kept.parsed, server) == 5
    assert unstarted(short, short.parsed, server) == 2, "written before it was given the whole window"
    other = book(overlap="queue_one").model_copy(update={"server_window": 3600.0})
    assert unstarted(other, other.parsed, server) == 2


def test_a_run_that_the_index_does_not_know_yet_is_a_run() -> None:
    name = run_id("s", NOON)
    server = Server(running=[name], recent=[Started(id=name, at=at(1)), Started(id="s~0a1b", at=at(2))])
    assert with_recent([], server, "s") == [
        Run(name, NOON, at(1), None, State.RUNNING),
        Run("s~0a1b", None, at(2), at(2), State.RUNNING),
    ]
    assert with_recent([run(0, 0.5)], server, "s")[0].closed_at == at(0.5)
    assert "recent" not in server.model_dump(mode="json")


def test_only_the_latest_unless_a_later_one_came() -> None:
    kept = book(cron="0 * * * *", catch_up={"policy": "latest", "window": "1d"}, since=-600)
    found = judge(kept, kept.parsed, at(30), at(31), [])
    assert found.times == [NOON]
    assert judge(kept, kept.parsed, at(59.9), at(60), []).times == []


def test_what_is_older_than_the_window_stays_missed() -> None:
    kept = book(since=-300, catch_up={"window": "10m"})
    assert judge(kept, kept.parsed, at(0), at(0), []).times == [at(minute) for minute in range(-9, 1)]


def test_many_are_made_up_in_portions() -> None:
    kept = book(since=-1440, catch_up={"window": "1d"})
    first = judge(kept, kept.parsed, at(0), at(0), [])
    assert first.more and len(first.times) == 500
    then = judge(kept.model_copy(update={"judged_until": first.judged_until}), kept.parsed, at(0), at(0), [])
    assert then.times[0] == first.times[-1] + MINUTE


def test_an_edit_loses_no_time_whatever_the_policy() -> None:
    kept = book(cron="*/5 * * * * *", catch_up={"policy": "none"})
    edit = NOON + timedelta(seconds=12)
    ran = [Run(run_id("s", NOON), NOON, NOON, NOON + timedelta(seconds=1), State.SUCCEEDED)]
    assert judge_edit(kept, kept.parsed, edit, ran) == [
        NOON + timedelta(seconds=5),
        NOON + timedelta(seconds=10),
    ]


@pytest.mark.parametrize(
    ("fields", "seconds", "window"),
    [
        ({"cron": "0 2 * * *"}, 60, 3600),
        ({"cron": "0 2 * * *", "overlap": "queue_one"}, 60, 60),
        ({"every": "30s", "overlap": "cancel_running"}, 30, 30),
        ({"every": "1s", "catch_up": {"policy": "none"}}, 10, 10),
        ({"cron": ["0 * * * *", "20 0 * * * *"], "catch_up": {"policy": "latest"}}, 20, 20),
        ({"cron": "0 2 * * *", "catch_up": {"window": "15s"}}, 15, 15),
        ({"cron": "0 2 * * *", "overlap": "allow"}, 60, 3600),
        ({"cron": "0 2 * * *", "overlap": "allow", "catch_up": {"policy": "latest"}}, 60, 60),
        ({"at": ["2027-02-01T00:00:00Z"], "catch_up": {"policy": "none"}}, 60, 60),
    ],
)
def test_how_late_is_on_time(fields: dict[str, Any], seconds: int, window: int) -> None:
    spec = ScheduleSpec.model_validate({**fields, "job": {"kind": "noop"}})
    rule = read_fields(spec, "s")
    assert grace_of(spec, rule, NOON) == timedelta(seconds=seconds)
    assert server_window(spec, rule, NOON) == timedelta(seconds=window)


def test_what_the_server_has_come_to_is_settled() -> None:
    kept = book(jitter="30s").model_copy(update={"server_window": 60.0})
    present = settled_until(kept, kept.parsed, NOON, is_present=True)
    absent = settled_until(kept, kept.parsed, NOON, is_present=False)
    assert (NOON - present, present - absent) == (timedelta(seconds=32), timedelta(seconds=60))


def test_a_count_of_missed_times_is_settled_once_they_are_old_enough_to_judge() -> None:
    kept = book()
    settles = timedelta(seconds=12)
    first = changes.judged(kept, at(0), 3, at(1), settles)
    assert (first.missed_seen, first.noticed_at, first.look_at) == (0, at(1), at(1) + timedelta(seconds=13))
    second = changes.judged(first, at(1.5), 5, at(2), settles)
    assert (second.missed_seen, second.missed_noticed, second.noticed_at) == (3, 5, at(2))
    third = changes.judged(second, at(2.5), 5, at(3), settles)
    assert (third.missed_seen, third.noticed_at, third.look_at) == (5, None, None)
    assert changes.judged(third, at(3), 5, at(4), settles).judged_until == at(3)


def test_what_the_server_did_is_taken_over() -> None:
    kept = book(max_runs=5)
    used = changes.adopted(kept, Server(exists=True, remaining=2), NOON)
    assert (used.runs_used, used.runs_left) == (3, 2)
    more = changes.replaced(used, put(max_runs=10), NOON)
    assert more.runs_left == 7
    failed = changes.adopted(
        kept, Server(exists=True, paused=True, notes="paused due to workflow failure"), NOON
    )
    assert failed.pause is not None and failed.pause.source == "failure"
    by_hand = changes.adopted(kept, Server(exists=True, paused=True, notes="at rest"), NOON)
    assert by_hand.pause is not None and (by_hand.pause.source, by_hand.pause.reason) == (
        "temporal",
        "at rest",
    )
    resumed = changes.adopted(by_hand.model_copy(update={"applied_paused": True}), Server(exists=True), at(1))
    assert resumed.pause is None and resumed.pauses[0].end == at(1)


def test_who_pauses_by_the_specification_ends_that_pause_alone() -> None:
    kept = book(paused=True)
    assert kept.pause is not None and kept.pause.source == "spec"
    assert changes.replaced(kept, put(), NOON).pause is None
    by_hand = changes.paused(kept, PauseSpan(since=NOON, reason="deploy", by="anna"))
    assert changes.replaced(by_hand, put(), NOON).pause is not None


def test_the_past_is_kept_within_bounds() -> None:
    kept = book()
    for number in range(KEPT_REVISIONS + 20):
        kept = changes.replaced(kept, put(every=f"{number + 1}m"), at(number))
        kept = changes.resumed(
            changes.paused(kept, PauseSpan(since=at(number), reason="r", by="a")), at(number)
        )
    assert len(kept.revisions) == KEPT_REVISIONS and len(kept.pauses) == KEPT_PAUSES
    assert kept.revisions[-1].rule == {"every": f"{KEPT_REVISIONS + 20}m"}
    large = [(NOON + n * MINUTE).isoformat() for n in range(1000)]
    for number in range(5):
        kept = changes.replaced(kept, put(at=large, start_at=at(-number).isoformat()), at(100 + number))
    assert len(kept.revisions) < 5


def test_what_is_to_come_leaves_out_pauses_skips_and_what_there_is_no_room_for() -> None:
    kept = changes.skipping(book(), SkippedTime(at=at(2), by="anna")).model_copy(update={"runs_left": 3})
    assert [(fire.utc - NOON) // MINUTE for fire in upcoming(kept, at(0.5))] == [1, 3, 4]
    pause = PauseSpan(since=at(0), until=at(5), reason="r", by="a")
    assert next(upcoming(changes.paused(kept, pause), at(0.5))).utc == at(5)
    assert list(upcoming(changes.paused(kept, pause.model_copy(update={"until": None})), at(0.5))) == []


@given(edits=st.lists(st.integers(0, 500), min_size=1, max_size=30))
def test_looks_after_edits_cover_every_edit(edits: list[int]) -> None:
    """A later one close by takes the place of an earlier one, whose reach it covers."""
    kept = book()
    moments = [NOON + timedelta(seconds=second) for second in sorted(edits)]
    for moment in moments:
        kept = changes.edited(kept, moment)
    for moment in moments:
        assert any(
            timedelta(0) <= kept_at - moment <= timedelta(seconds=15) for kept_at in kept.edits
        ) or any(moment <= kept_at for kept_at in kept.edits)


def test_the_doctor_finds_schedules_that_somebody_forgot() -> None:
    old = changes.paused(book(), PauseSpan(since=at(-60 * 24 * 9), reason="deploy", by="anna"))
    over = book(at=["2027-01-01T00:00:00Z"]).model_copy(update={"id": "over"})
    found = examine_schedules([summary_of(old, NOON), summary_of(over, NOON)], NOON)
    assert [finding.severity.value for finding in found] == ["warning"]
    assert "`s` is paused by anna for 9d: deploy" in found[0].says
    (well,) = examine_schedules([summary_of(book(), NOON), summary_of(over, NOON)], NOON)
    assert well.severity.value == "ok" and "1 will not fire again" in well.says
