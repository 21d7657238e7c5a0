"""A pipeline drawn: columns, crossings, coordinates, and what text can do to a picture."""

import random
import re
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from api.pipelines.graph import Graph, Node
from api.pipelines.layers import EDGES, crossings, layers
from api.pipelines.layout import GAP_X, HEIGHT, WIDTH, lay_out
from api.pipelines.mermaid import mermaid
from api.pipelines.svg import shorten, svg
from duetime.contracts.states import State

#: Each example draws a whole picture.
FEW = settings(max_examples=30, deadline=None)
SVG = "{http://www.w3.org/2000/svg}"
DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    names = [f"n{number}" for number in range(draw(st.integers(1, 25)))]
    return {
        name: tuple(draw(st.sets(st.sampled_from(names[:at]), max_size=4))) if at else ()
        for at, name in enumerate(names)
    }


@FEW
@given(graphs())
def test_every_job_is_right_of_what_it_needs_and_none_lies_on_another(
    needs: dict[str, tuple[str, ...]],
) -> None:
    found = lay_out(needs)
    assert found.jobs.keys() == needs.keys()
    for name, before in needs.items():
        for needed in before:
            assert found.jobs[needed].x + WIDTH + GAP_X <= found.jobs[name].x
            route = found.edges[needed, name]
            assert (route[0], route[-1]) == (found.jobs[needed], found.jobs[name])
            assert [point.x for point in route] == sorted(point.x for point in route)
    for name, at in found.jobs.items():
        assert 0 <= at.x <= found.width - WIDTH
        assert HEIGHT / 2 - 0.2 <= at.y <= found.height - HEIGHT / 2 + 0.2
        for other, there in found.jobs.items():
            assert name == other or at.x != there.x or abs(at.y - there.y) >= HEIGHT


@FEW
@given(graphs())
def test_an_edge_over_several_columns_passes_between_their_jobs(needs: dict[str, tuple[str, ...]]) -> None:
    found = lay_out(needs)
    for route in found.edges.values():
        for bend in route[1:-1]:
            beside = [at for at in found.jobs.values() if at.x == bend.x]
            assert all(abs(at.y - bend.y) >= HEIGHT / 2 for at in beside)


def test_what_can_be_drawn_without_crossings_is() -> None:
    assert crossings(layers(DIAMOND).columns) == 0
    tangled = {"a": (), "b": (), "c": (), "x": ("c",), "y": ("b",), "z": ("a",)}
    assert crossings(layers(tangled).columns) == 0


def test_the_shape_of_a_diamond() -> None:
    found = lay_out(DIAMOND)
    a, b, c, d = (found.jobs[name] for name in "abcd")
    assert a.y == d.y == (b.y + c.y) / 2
    assert b.x == c.x


def test_a_large_pipeline_stays_bounded() -> None:
    chance = random.Random(7)
    nodes = tuple(
        Node(
            f"n{at}",
            "etl.step",
            "succeeded",
            tuple(f"n{other}" for other in sorted(chance.sample(range(at), min(at, 8)))),
        )
        for at in range(2_000)
    )
    picture = svg(Graph("large", "succeeded", nodes))
    assert len(picture) < 4_000_000
    drawn = [path for path in ElementTree.fromstring(picture).iter(f"{SVG}path") if path.get("marker-end")]
    assert len(drawn) == EDGES
    assert "5,964 dependencies are not drawn" in picture


STATES = [str(state) for state in State]
NIGHTLY = Graph(
    "nightly-1",
    "running",
    (
        Node("extract", "etl.extract", "succeeded"),
        Node("load", "etl.load", "running", ("extract",), note="37 of 120"),
        Node("alert", "mail.send", "waiting", ("extract", "load"), "any_failed"),
    ),
    ("extract", "load"),
)


def test_the_picture_tells_names_states_and_conditions_in_words() -> None:
    root = ElementTree.fromstring(svg(NIGHTLY))
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "t d"
    assert root.findtext(f"{SVG}title") == "Pipeline nightly-1: running"
    description = root.findtext(f"{SVG}desc") or ""
    assert "3 jobs" in description
    assert "Critical path: extract, load." in description
    titles = [job.findtext(f"{SVG}title") for job in root.iter(f"{SVG}g") if job.get("class")]
    assert titles == [
        "extract (etl.extract): succeeded",
        "load (etl.load): running 37 of 120",
        "alert (mail.send): waiting, runs when any_failed",
    ]
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"extract", "load", "alert", "running 37 of 120", "any_failed"} <= words
    thick = [path for path in root.iter(f"{SVG}path") if path.get("class") == "edge path"]
    assert len(thick) == 1


def test_every_state_is_drawn_by_name() -> None:
    picture = svg(Graph("p", "running", tuple(Node(state, "k", state) for state in STATES)))
    root = ElementTree.fromstring(picture)
    drawn = [job.get("class") for job in root.iter(f"{SVG}g") if job.get("class")]
    assert drawn == [f"job {state}" for state in STATES]
    text = mermaid(Graph("p", "running", tuple(Node(state, "k", state) for state in STATES)))
    for number, state in enumerate(STATES):
        assert f'j{number}["{state}<br/>k<br/>{state}"]' in text


def test_an_empty_graph_is_a_picture_too() -> None:
    assert "no jobs" in svg(Graph("p", "succeeded", ()))
    assert mermaid(Graph("p", "succeeded", ())).startswith("flowchart LR\n")


ANYTHING = st.text(max_size=40)


@FEW
@given(ANYTHING, ANYTHING, ANYTHING)
def test_no_text_becomes_markup(name: str, kind: str, state: str) -> None:
    picture = svg(Graph(name, state, (Node(name, kind, state, note=kind),), (name,)))
    root = ElementTree.fromstring(picture)
    plain = ElementTree.fromstring(svg(Graph("p", "s", (Node("n", "k", "s"),), ("n",))))
    assert [element.tag for element in root.iter()] == [element.tag for element in plain.iter()]
    lines = mermaid(Graph(name, state, (Node(name, kind, state, note=kind),))).splitlines()
    assert lines[0] == "flowchart LR"
    assert len(lines) <= 5
    assert re.fullmatch(r'  j0\["[A-Za-z0-9_. :/()#;<>-]*"\]', lines[2])


def test_mermaid_tells_edges_conditions_and_the_critical_path() -> None:
    assert mermaid(NIGHTLY).splitlines()[:8] == [
        "flowchart LR",
        "  %% nightly-1: running",
        '  j0["extract<br/>etl.extract<br/>succeeded"]',
        '  j1["load<br/>etl.load<br/>running 37 of 120"]',
        '  j2["alert<br/>mail.send<br/>waiting"]',
        "  j0 ==> j1",
        "  j0 -->|any_failed| j2",
        "  j1 -->|any_failed| j2",
    ]


def test_mermaid_says_what_a_viewer_needs_for_a_large_one() -> None:
    nodes = tuple(Node(f"n{at}", "k", "waiting", (f"n{at - 1}",) if at else ()) for at in range(600))
    assert "maxEdges of 599" in mermaid(Graph("p", "running", nodes)).splitlines()[1]
    assert "maxEdges" not in mermaid(NIGHTLY)


def test_long_names_lose_their_middle() -> None:
    assert shorten("load-orders-of-2026-11-30-eu", 21) == "load-order…6-11-30-eu"
    assert shorten("load", 21) == "load"
