"""What begins, what is skipped and how a pipeline ends: pure decisions, from tables and over random graphs."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.contracts.pipeline import PipelineSpec, When
from duetime.contracts.pipeline_rules import read_pipeline
from duetime.contracts.pipeline_state import BAD, FINAL_MARKS, Halt, Mark
from duetime.contracts.states import State
from duetime.graph import Graph, kept
from tests.support.alone import alone

DIAMOND = {"a": "", "b": "a", "c": "a", "d": "b c"}
ENDS = {"s": Mark.SUCCEEDED, "f": Mark.FAILED, "c": Mark.CANCELLED, "x": Mark.EXPIRED}


def pipeline(needs: Mapping[str, str], **fields: Any) -> PipelineSpec:
    """Jobs as `{"name": "needed names"}`; `"name:condition"` says when."""
    jobs = {}
    for told, needed in needs.items():
        name, _, when = told.partition(":")
        jobs[name] = {"kind": "noop", "needs": needed.split(), "when": when or "all_succeeded"}
    return read_pipeline({"jobs": jobs, **fields})


def play(
    spec: PipelineSpec,
    end_of: Callable[[str], Mark],
    *,
    graph: Graph | None = None,
    choose: Callable[[list[str]], str] = lambda running: running[0],
) -> tuple[Graph, list[str]]:
    """Plays a pipeline to its end; the graph, and the jobs in the order in which they began."""
    graph = graph or Graph(spec)
    began: list[str] = []
    while not graph.is_over:
        began += graph.begin(spec.max_parallel - len(graph.running))
        assert graph.running or graph.is_over, f"stuck: {graph.marks}"
        if graph.running:
            name = choose(list(graph.running))
            graph.end(name, end_of(name))
    return graph, began


@pytest.mark.parametrize(
    ("needs", "ends", "letters", "state"),
    [
        (DIAMOND, {}, "ssss", "succeeded"),
        (DIAMOND, {"b": "f"}, "sfsu", "failed"),
        (DIAMOND, {"b": "c"}, "scsu", "failed"),
        (DIAMOND, {"b": "x"}, "sxsu", "failed"),
        (DIAMOND, {"a": "f"}, "fuuu", "failed"),
        # An alarm rings for what failed, and for what was skipped for that; else it is not needed.
        ({"a": "", "b": "a", "alarm:any_failed": "b"}, {"a": "f"}, "fus", "failed"),
        ({"a": "", "b": "a", "alarm:any_failed": "b"}, {}, "ssn", "succeeded"),
        # Nothing failed, but not all succeeded.
        ({"a": "", "b:any_failed": "a", "c": "", "d": "b c"}, {}, "snsn", "succeeded"),
        ({"a": "", "b:any_failed": "a", "c": "", "d:all_finished": "b c"}, {}, "snss", "succeeded"),
        # The failure is the better reason, whichever comes first.
        ({"a": "", "b:any_failed": "a", "c": "", "d": "b c"}, {"c": "f"}, "snfu", "failed"),
        ({"c": "", "a": "", "b:any_failed": "a", "d": "b c"}, {"c": "f"}, "fsnu", "failed"),
        ({"a": "", "b": "", "c:any_succeeded": "a b"}, {"a": "f"}, "fss", "failed"),
        ({"a": "", "b": "", "c:any_succeeded": "a b"}, {"a": "f", "b": "c"}, "fcu", "failed"),
        ({"a": "", "clean:always": "a", "after": "clean"}, {"a": "f"}, "fss", "failed"),
        ({"a": "", "b": "a", "c": "b", "clean:all_finished": "c"}, {"a": "f"}, "fuus", "failed"),
    ],
)
def test_conditions(needs: dict[str, str], ends: dict[str, str], letters: str, state: str) -> None:
    graph, began = play(pipeline(needs), lambda name: ENDS[ends.get(name, "s")])
    assert (graph.letters, graph.state()) == (letters, state)
    assert len(set(began)) == len(began) == sum(letter not in "nu" for letter in letters)


def test_an_alarm_and_a_race_do_not_wait_for_the_rest() -> None:
    graph = Graph(pipeline({"a": "", "b": "", "alarm:any_failed": "a b", "first:any_succeeded": "a b"}))
    graph.begin()
    graph.end("a", Mark.FAILED)
    assert graph.begin() == ["alarm"]
    graph.end("b", Mark.SUCCEEDED)
    assert graph.begin() == ["first"]


def test_urgent_jobs_begin_first_and_room_is_kept() -> None:
    jobs = {name: {"kind": "noop", "priority": p} for name, p in [("a", 3), ("b", 1), ("c", 5), ("d", 1)]}
    graph = Graph(read_pipeline({"jobs": jobs}))
    assert graph.begin(0) == []
    assert graph.begin(3) == ["b", "d", "a"]
    assert graph.begin(3) == ["c"]


@pytest.mark.parametrize(
    ("halt", "letters", "state"),
    [
        (Halt.FAILURE, "chhssss", "failed"),
        (Halt.DEADLINE, "chhhssh", "expired"),
        (Halt.CANCELLED, "chhhhsh", "cancelled"),
        (Halt.FORCED, "chhhhhh", "cancelled"),
    ],
)
def test_a_halt_ends_what_does_not_react_to_it(halt: Halt, letters: str, state: str) -> None:
    needs = {
        "a": "",
        "b": "a",
        "c:any_succeeded": "b",
        "d:all_finished": "b",
        "e:any_failed": "b",
        "f:always": "b",
        "g:all_finished": "f",
    }
    spec = pipeline(needs)
    graph = Graph(spec)
    graph.begin()
    graph.stop(halt)
    assert graph.to_cancel() == ["a"]
    graph.end("a", Mark.CANCELLED)
    graph, _ = play(spec, lambda _: Mark.SUCCEEDED, graph=graph)
    assert (graph.letters, graph.state()) == (letters, state)


def test_a_milder_halt_changes_nothing() -> None:
    graph = Graph(pipeline({"a": "", "b:any_failed": "a", "c:always": "a"}))
    graph.begin()
    graph.stop(Halt.CANCELLED)
    graph.stop(Halt.DEADLINE)
    assert graph.halt is Halt.CANCELLED
    graph.end("a", Mark.CANCELLED)
    assert graph.begin() == ["c"]
    assert graph.to_cancel() == []
    graph.stop(Halt.FORCED)
    assert graph.to_cancel() == ["c"]


def test_stop_on_failure_leaves_what_reacts_to_it() -> None:
    needs = {"a": "", "b": "", "c": "b", "alarm:any_failed": "a"}
    graph = Graph(pipeline(needs, on_failure="stop"))
    graph.begin()
    graph.end("a", Mark.FAILED)
    assert graph.to_cancel() == ["b"]
    assert graph.begin() == ["alarm"]
    graph.end("b", Mark.CANCELLED)
    graph.end("alarm", Mark.SUCCEEDED)
    assert graph.is_over and graph.letters == "fchs" and graph.state() is State.FAILED


def test_what_is_done_before_a_cancellation_takes_hold_has_succeeded() -> None:
    graph = Graph(pipeline({"a": ""}))
    graph.begin()
    graph.stop(Halt.CANCELLED)
    graph.end("a", Mark.SUCCEEDED)
    assert graph.state() is State.SUCCEEDED


@pytest.mark.parametrize(
    ("needs", "before", "stays"),
    [
        (DIAMOND, "sfsu", "s-s-"),
        (DIAMOND, "scsh", "s-s-"),
        # What reacted to the failure reacts again; what had nothing to do with it does not.
        ({"a": "", "alarm:any_failed": "a"}, "fs", "--"),
        ({"a": "", "clean:always": "a", "after": "clean"}, "fss", "---"),
        ({"a": "", "b": "", "c:any_succeeded": "a b", "d": "c"}, "fsss", "-sss"),
        ({"a": "", "alarm:any_failed": "a", "end:all_finished": "alarm", "z": ""}, "snsf", "sns-"),
        # A pipeline that was terminated.
        (DIAMOND, "s>>-", "s---"),
    ],
)
def test_a_retry_keeps_what_succeeded(needs: dict[str, str], before: str, stays: str) -> None:
    spec = pipeline(needs)
    marks = {name: Mark(letter) for name, letter in zip(spec.jobs, before, strict=True)}
    left = kept(spec, marks)
    assert "".join(left.get(name, Mark.WAITING) for name in spec.jobs) == stays
    graph, began = play(spec, lambda _: Mark.SUCCEEDED, graph=Graph(spec, left))
    assert not set(began) & set(left)
    assert graph.state() is State.SUCCEEDED


@pytest.mark.parametrize("shape", ["chain", "fan", "dense"])
def test_two_thousand_jobs_are_no_matter(shape: str) -> None:
    """Counts the lines that run, since times say nothing on a busy machine: at most in proportion to the needs."""
    lines, edges = alone("tests.pipelines.test_graph:lines_of", shape)
    assert lines < 60 * (2_000 + edges)


def lines_of(shape: str) -> tuple[int, int]:
    """The lines that deciding a pipeline of 2,000 jobs runs, and how many needs it has."""

    def needs(index: int) -> str:
        match shape:
            case "chain":
                return f"n{index - 1}" if index else ""
            case "fan":
                return " ".join(f"n{i}" for i in range(1, index)) if index == 1_999 else "n0" if index else ""
        return " ".join(f"n{i}" for i in range(max(0, index - 20), index))

    spec = pipeline({f"n{index}": needs(index) for index in range(2_000)})
    lines = 0

    def count(*_: Any) -> Any:
        nonlocal lines
        lines += 1
        return count

    sys.settrace(count)
    try:
        graph, began = play(spec, lambda _: Mark.SUCCEEDED, choose=lambda running: running[-1])
    finally:
        sys.settrace(None)
    assert graph.state() is State.SUCCEEDED and len(began) == 2_000
    return lines, sum(len(job.needs) for job in spec.jobs.values())


NAMES = [f"n{index}" for index in range(8)]


@st.composite
def pipelines(draw: st.DrawFn) -> PipelineSpec:
    jobs = {}
    for index, name in enumerate(NAMES[: draw(st.integers(1, len(NAMES)))]):
        needs = draw(st.lists(st.sampled_from(NAMES[:index]), unique=True)) if index else []
        conditions = list(When) if needs else [When.ALL_SUCCEEDED, When.ALL_FINISHED, When.ALWAYS]
        jobs[name] = {"kind": "noop", "needs": needs, "when": draw(st.sampled_from(conditions)).value}
    parallel = draw(st.integers(1, 4))
    return read_pipeline(
        {
            "jobs": dict(draw(st.permutations(list(jobs.items())))),
            "max_parallel": parallel,
            "on_failure": draw(st.sampled_from(["continue", "stop"])),
        }
    )


@given(pipelines(), st.data())
def test_any_pipeline_comes_to_its_end(spec: PipelineSpec, data: st.DataObject) -> None:
    """Each job after its needs, never twice, none forgotten, never more than there is room for; whatever happens."""
    graph = Graph(spec)
    began: set[str] = set()
    for _ in range(200):
        for name in graph.begin(spec.max_parallel - len(graph.running)):
            assert name not in began
            began.add(name)
            job = spec.jobs[name]
            ended = [needed for needed in job.needs if graph.marks[needed] in FINAL_MARKS]
            if job.when not in (When.ANY_FAILED, When.ANY_SUCCEEDED):
                assert ended == job.needs
            if job.when is When.ALL_SUCCEEDED:
                assert all(graph.marks[needed] is Mark.SUCCEEDED for needed in job.needs)
            assert name not in graph.to_cancel()
        assert len(graph.running) <= spec.max_parallel
        if graph.is_over:
            break
        assert graph.running, f"stuck: {graph.marks}"
        if data.draw(st.integers(0, 9)) == 0:
            graph.stop(data.draw(st.sampled_from(Halt)))
        name = data.draw(st.sampled_from(sorted(graph.running)))
        before = dict(graph.marks)
        graph.end(name, data.draw(st.sampled_from(sorted(ENDS.values()))))
        changed = {other for other in before if before[other] is not graph.marks[other]}
        assert all(other == name or before[other] is Mark.WAITING for other in changed)
    assert graph.is_over and set(graph.marks.values()) <= FINAL_MARKS
    assert {name for name, mark in graph.marks.items() if mark not in "nuh"} == began
    if graph.halt is None:
        assert (graph.state() is State.FAILED) == any(mark in BAD for mark in graph.marks.values())


@given(pipelines(), st.data())
def test_the_order_of_ends_does_not_matter(spec: PipelineSpec, data: st.DataObject) -> None:
    """But for `on_failure: stop`, which is about time."""
    spec = spec.model_copy(update={"on_failure": "continue"})
    ends = {name: data.draw(st.sampled_from(sorted(ENDS.values()))) for name in spec.jobs}
    one, _ = play(spec, ends.__getitem__)
    other, _ = play(spec, ends.__getitem__, choose=lambda running: data.draw(st.sampled_from(running)))
    assert one.marks == other.marks


@given(pipelines(), st.data())
def test_a_retry_runs_what_it_does_not_keep(spec: PipelineSpec, data: st.DataObject) -> None:
    ended, _ = play(spec, lambda _: data.draw(st.sampled_from(sorted(ENDS.values()))))
    left = kept(spec, ended.marks)
    assert all(ended.marks[name] is mark for name, mark in left.items())
    if ended.state() is State.SUCCEEDED:
        assert left == ended.marks
    again, began = play(spec, lambda _: Mark.SUCCEEDED, graph=Graph(spec, left))
    assert not set(began) & set(left)
    assert again.state() is State.SUCCEEDED
