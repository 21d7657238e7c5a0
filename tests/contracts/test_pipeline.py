"""What a pipeline may look like, and what each refusal says."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.contracts import limits
from duetime.contracts.pipeline import job_id
from duetime.contracts.pipeline_rules import BadPipeline, find_cycle, in_order, read_pipeline
from duetime.contracts.pipeline_state import Mark, Progress
from duetime.contracts.references import BadReference, Reference, parse_reference, references, resolve


def job(*needs: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "noop", "needs": list(needs), **fields}


def faults(value: Any, pipeline_id: str | None = None) -> list[tuple[str, str]]:
    try:
        read_pipeline(value, pipeline_id)
    except BadPipeline as bad:
        return [(fault["pointer"], fault["message"]) for fault in bad.faults]
    return []


@pytest.mark.parametrize(
    "jobs",
    [
        {"a": job(), "b": job("a"), "c": job("a"), "d": job("b", "c")},
        {"d": job("b", "c"), "c": job("a"), "b": job("a"), "a": job()},
        {"a": job(), "b": job("a", payload={"x": [{"$result": "a.x.0"}]})},
        {"a": job(), "b": job("a"), "c": job("b", payload={"$result": "a"})},
        {"a": job(), "b": job("a", for_each={"$result": "a.l"}, payload={"$item": ""}, max_parallel=7)},
        {"a": job(for_each=[1, {"x": 2}], payload={"x": {"$item": "x"}})},
        {"a": job(when="always"), "b": job("a", when="any_failed"), "c": job(after=["elsewhere"])},
        {f"n{i}": job(*([f"n{i - 1}"] if i else [])) for i in range(limits.PIPELINE_JOBS)},
        {f"n{i}": job(*([f"n{i + 1}"] if i < 1999 else [])) for i in range(limits.PIPELINE_JOBS)},
    ],
)
def test_valid_graphs(jobs: dict[str, Any]) -> None:
    assert faults({"jobs": jobs}) == []


@pytest.mark.parametrize(
    ("jobs", "pointer", "said"),
    [
        ({"a": job("b"), "b": job("a")}, "/jobs/a/needs", "a needs b needs a"),
        ({"a": job("a")}, "/jobs/a/needs/0", "cannot need itself"),
        (
            {"a": job(), "b": job("a", "d"), "c": job("b"), "d": job("c")},
            "/jobs/b/needs",
            "b needs d needs c needs b",
        ),
        ({"a": job("x")}, "/jobs/a/needs/0", "no job 'x'"),
        ({"Load": job(), "b": job("load")}, "/jobs/b/needs/0", "did you mean 'Load'?"),
        ({"a": job(), "b": job("a", "a")}, "/jobs/b/needs/1", "is there twice"),
        ({}, "/jobs", "one job at least"),
        ({"a b": job()}, "/jobs/a b", "may hold letters, digits and"),
        ({"a.b": job()}, "/jobs/a.b", "may hold letters, digits and"),
        ({"a": job(pririty=1)}, "/jobs/a/pririty", "did you mean `priority`?"),
        ({"a": job(id="x")}, "/jobs/a/id", "leave it out"),
        ({"a": job(reuse_id=True)}, "/jobs/a/reuse_id", "one job of each name"),
        ({"a": job(when="sometimes")}, "/jobs/a/when", "'all_succeeded'"),
        ({"a": job(when="any_failed")}, "/jobs/a/when", "it names none"),
        ({"a": {"needs": []}}, "/jobs/a/kind", "is required"),
        ({"a": job(max_parallel=2)}, "/jobs/a/max_parallel", "only goes with `for_each`"),
        ({"a": job(for_each={"list": []})}, "/jobs/a/for_each", '{"$result": "name.path"}'),
        ({"a": job(for_each=[1])}, "/jobs/a/payload", 'put {"$item": ""}'),
        ({"a": job(for_each=[0] * 10_001, payload={"$item": ""})}, "/jobs/a/for_each", "at most 10,000"),
        ({"a": job(payload={"x": {"$item": ""}})}, "/jobs/a/payload/x", "with `for_each`"),
        ({"a": job(for_each=[{"$item": ""}], payload={"$item": ""})}, "/jobs/a/for_each/0", "only goes into"),
        (
            {"a": job(), "b": job(payload={"x/y": [{"$result": "a"}]})},
            "/jobs/b/payload/x~1y/0",
            "name it in `needs`",
        ),
        (
            {"a": job("b"), "b": job(payload={"x": {"$result": "a"}})},
            "/jobs/b/payload/x",
            "name it in `needs`",
        ),
        ({"a": job(payload={"x": {"$result": "a"}})}, "/jobs/a/payload/x", "does not come after"),
        ({"a": job(payload={"x": {"$result": "z.y"}})}, "/jobs/a/payload/x", "no job 'z'"),
        ({"a": job(payload={"x": {"$result": 5}})}, "/jobs/a/payload/x", "takes text"),
        ({"a": job(payload={"x": {"$result": ""}})}, "/jobs/a/payload/x", "empty part"),
        ({"a": job(payload={"x": {"$result": "a", "y": 1}})}, "/jobs/a/payload/x", "no other member"),
        ({"a": job(payload={"x": "y" * 300_000})}, "/jobs/a/payload", "at most 262,144"),
        ({"a": job(payload={"x": float("nan")})}, "/jobs/a/payload/x", "not a JSON number"),
        ({"a": job(after=["p~b"]), "b": job()}, "/jobs/a/after/0", "name it in `needs`"),
        ({"x" * 64: job()}, "", ""),
    ],
)
def test_refusals_name_the_place_and_the_way_out(jobs: dict[str, Any], pointer: str, said: str) -> None:
    found = faults({"jobs": jobs}, "p")
    if not pointer:
        assert found == []
        return
    assert any(where.startswith(pointer) and said in message for where, message in found), found


def test_the_pipelines_of_the_guide_are_valid() -> None:
    guide = (Path(__file__).parents[2] / "docs/pipelines.md").read_text()
    told = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    assert len(told) == 2
    assert [faults(json.loads(text), "nightly") for text in told] == [[], []]
    (by_hand,) = re.findall(r"--input '(.*)'", guide)
    assert faults(json.loads(by_hand), "nightly") == []


def test_bounds() -> None:
    many = {f"n{i}": job() for i in range(limits.PIPELINE_JOBS + 1)}
    assert "at most 2,000" in faults({"jobs": many})[0][1]
    large = {f"n{i}": job(payload={"x": "y" * 250_000}) for i in range(7)}
    assert faults({"jobs": large})[0][1].endswith("at most 1,572,864")
    assert "at most 250" in faults({"jobs": {"x" * 64: job()}}, "p" * 200)[0][1]
    assert faults({"jobs": {"x" * 49: job()}}, "p" * 200) == []
    assert "250" in faults({"jobs": {"x" * 45: job(for_each=[1], payload={"$item": ""})}}, "p" * 200)[0][1]
    assert faults({"jobs": {"a": job()}, "max_parallel": 501})[0][0] == "/max_parallel"
    assert faults({"jobs": {"a": job()}, "on_failure": "x"})[0][0] == "/on_failure"
    assert faults({"jobs": {"a": job()}, "deadline": "0s"})[0][0] == "/deadline"
    assert faults([])[0][0] == ""


def test_a_long_cycle_is_told_in_short() -> None:
    jobs = {f"n{i}": job(f"n{(i + 1) % 2_000}") for i in range(2_000)}
    ((pointer, message),) = faults({"jobs": jobs})
    assert pointer == "/jobs/n0/needs" and "more" in message and len(message) < 400


def test_it_is_given_back_as_it_was() -> None:
    jobs = {"a": job(priority=1, tags=["x"]), "b": job("a", when="always", retry={"max_attempts": 2})}
    spec = read_pipeline({"jobs": jobs, "id": "p", "deadline": "6h", "on_failure": "stop", "max_parallel": 3})
    assert read_pipeline(spec.compact()) == spec.model_copy(update={"id": None})


@given(st.dictionaries(st.integers(0, 12), st.lists(st.integers(0, 12), max_size=4), max_size=13))
def test_cycles_are_found_and_only_those(graph: dict[int, list[int]]) -> None:
    needs = {str(n): [str(other) for other in others if other in graph] for n, others in graph.items()}
    cycle = find_cycle(needs)
    if cycle is None:
        ordered = in_order(needs)
        assert sorted(ordered) == sorted(needs)
        place = {name: index for index, name in enumerate(ordered)}
        assert all(place[needed] < place[name] for name in needs for needed in needs[name])
    else:
        assert len(cycle) >= 2 and cycle[0] == cycle[-1]
        assert all(later in needs[name] for name, later in pairwise(cycle))


VALUE = {"rows": [{"id": 7}, None], "a b": {"": 1}, "text": "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("a", VALUE), ("a.rows.0.id", 7), ("a.rows.1", None), ("a.a b", {"": 1}), ("a.text", "x")],
)
def test_paths(text: str, value: Any) -> None:
    reference = parse_reference({"$result": text})
    assert reference.name == "a" and str(reference) == text
    assert reference.follow(VALUE) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.rows.2", "'rows' in the result of 'a' is a list of 2 and has no item '2'"),
        ("a.rows.-1", "has no item '-1'"),
        ("a.rows.٠", "has no item '٠'"),
        ("a.rows." + "9" * 5_000, "has no item"),
        ("a.rows.1.id", "is null and has no 'id'"),
        ("a.text.0", "is no object or list"),
        ("a.columns", "the result of 'a' has no member 'columns'"),
    ],
)
def test_paths_that_lead_nowhere(text: str, said: str) -> None:
    with pytest.raises(BadReference) as error:
        parse_reference({"$result": text}).follow(VALUE)
    assert said in str(error.value)


def test_what_is_put_in_is_not_looked_at_again() -> None:
    template = {"a": [{"$result": "x.y"}, 1], "b": {"c": {"$item": ""}}}
    assert [(r.marker, r.pointer) for r in references(template)] == [("$item", "/b/c"), ("$result", "/a/0")]
    values = {"x.y": {"$item": "z"}, "": [{"$result": "q"}]}
    assert resolve(template, lambda reference: values[str(reference)]) == {
        "a": [{"$item": "z"}, 1],
        "b": {"c": [{"$result": "q"}]},
    }
    assert template["a"] == [{"$result": "x.y"}, 1], "the template is as it was"


def test_ids_and_marks() -> None:
    assert (job_id("p", "a"), job_id("p", "a", 3)) == ("p~a", "p~a~3")
    assert Progress(marks="s>").by_name(["a", "b", "c"]) == {
        "a": Mark.SUCCEEDED,
        "b": Mark.BEGUN,
        "c": Mark.WAITING,
    }
    assert Reference("$item", "", ("a", "b")).follow({"a": {"b": 1}}) == 1
