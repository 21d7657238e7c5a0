"""The critical path: whose steps add up to what the pipeline took."""

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from api.pipelines.critical import Timed, critical_path

BEGAN = datetime(2027, 1, 15, 2, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def names(*jobs: Timed, now: float = 100) -> list[str]:
    return [step.name for step in critical_path(jobs, BEGAN, at(now))]


def test_the_slower_of_two_branches_is_on_it() -> None:
    jobs = [
        Timed("extract", (), at(0), at(10)),
        Timed("fast", ("extract",), at(10), at(12)),
        Timed("slow", ("extract",), at(11), at(30)),
        Timed("load", ("fast", "slow"), at(30), at(31)),
    ]
    path = critical_path(jobs, BEGAN, at(100))
    assert [(s.name, s.waited, s.ran) for s in path] == [
        ("extract", timedelta(0), timedelta(minutes=10)),
        ("slow", timedelta(minutes=1), timedelta(minutes=19)),
        ("load", timedelta(0), timedelta(minutes=1)),
    ]


def test_a_branch_that_ends_last_ends_the_path_whatever_others_took() -> None:
    jobs = [
        Timed("long", (), at(0), at(60)),
        Timed("short", (), at(0), at(1)),
        Timed("late", ("short",), at(61), at(62)),
    ]
    path = critical_path(jobs, BEGAN, at(100))
    assert [step.name for step in path] == ["short", "late"]
    assert path[1].waited == timedelta(minutes=60), "an hour in its queue, which the path tells"


def test_while_it_is_open_it_ends_with_a_job_that_is_ready_or_runs() -> None:
    extract = Timed("extract", (), at(0), at(10))
    running = Timed("running", ("extract",), at(12))
    assert names(extract, running, Timed("later", ("running",)), now=15) == ["extract", "running"]
    (first, second) = critical_path([extract, running], BEGAN, at(15))
    assert (second.waited, second.ran) == (timedelta(minutes=2), timedelta(minutes=3))
    assert first.ran == timedelta(minutes=10)
    queued = Timed("queued", ("extract",), begun=True)
    assert names(extract, queued, now=15) == ["extract", "queued"]
    assert critical_path([extract, queued], BEGAN, at(15))[1].waited == timedelta(minutes=5)


def test_a_job_that_was_skipped_takes_no_time_and_does_not_end_it() -> None:
    extract = Timed("extract", (), at(0), at(10))
    assert names(extract, Timed("alert", ("extract",), None, at(10))) == ["extract"]
    through = [extract, Timed("maybe", ("extract",), None, at(10)), Timed("end", ("maybe",), at(10), at(11))]
    assert names(*through) == ["extract", "maybe", "end"]


def test_an_alarm_comes_after_what_set_it_off_and_not_after_what_still_ran() -> None:
    jobs = [
        Timed("bad", (), at(0), at(5)),
        Timed("slow", (), at(0), at(50)),
        Timed("alarm", ("bad", "slow"), at(6), at(60)),
    ]
    assert names(*jobs) == ["bad", "alarm"]


def test_what_an_earlier_run_did_is_left_out() -> None:
    kept = Timed("kept", (), at(-60), at(-50))
    again = Timed("again", ("kept",), at(1), at(5))
    path = critical_path([kept, again], BEGAN, at(100))
    assert [(step.name, step.waited) for step in path] == [("again", timedelta(minutes=1))]


def test_a_pipeline_in_which_nothing_is_known_has_none() -> None:
    assert names() == []
    assert names(Timed("kept", (), at(-2), at(-1))) == []


def test_clocks_that_differ_give_no_negative_times() -> None:
    jobs = [Timed("a", (), at(-1), at(1)), Timed("b", ("a",), at(1.5))]
    path = critical_path(jobs, BEGAN, at(0.5))
    assert path
    assert all(step.waited >= timedelta(0) <= step.ran for step in path)


@st.composite
def runs(draw: st.DrawFn) -> list[Timed]:
    """Pipelines that ran to their end, each job when it was ready, after some wait."""
    ended: dict[str, datetime] = {}
    jobs = []
    for number in range(draw(st.integers(1, 12))):
        needs = tuple(draw(st.sets(st.sampled_from(sorted(ended)), max_size=3))) if ended else ()
        ready = max((ended[name] for name in needs), default=BEGAN)
        started = ready + timedelta(seconds=draw(st.integers(0, 5)))
        name = f"j{number}"
        ended[name] = started + timedelta(seconds=draw(st.integers(1, 50)))
        jobs.append(Timed(name, needs, started, ended[name]))
    return jobs


@settings(deadline=None, max_examples=50)
@given(runs())
def test_its_steps_are_a_chain_and_add_up_to_the_whole(jobs: list[Timed]) -> None:
    path = critical_path(jobs, BEGAN, at(1000))
    by_name = {job.name: job for job in jobs}
    for earlier, later in itertools.pairwise(path):
        assert earlier.name in by_name[later.name].needs
    assert by_name[path[0].name].needs == ()
    took = sum((step.waited + step.ran for step in path), timedelta(0))
    assert took == max(job.ended_at for job in jobs if job.ended_at) - BEGAN
