"""The client's face for pipelines, without a server: signatures, bodies, refusals, and lines for a terminal."""

import inspect
import io
import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.routes.pipeline_examples import PIPELINE_EXAMPLE
from duetime import Client, JobSpec, State, errors
from duetime.cli.main import run
from duetime.cli.show import console
from duetime.cli.show_pipeline import event_line, show_pipeline, show_pipelines
from duetime.client.pipelines import Pipelines
from duetime.client.sync_pipelines import SyncPipelines
from duetime.contracts.pipeline_events import PipelineMoment
from duetime.contracts.pipeline_view import ItemsView, PipelineView, progress_of, summary_of
from duetime.testing import FakeDuetime


def pipeline(**changes: Any) -> PipelineView:
    return PipelineView.model_validate({**PIPELINE_EXAMPLE, **changes})


def public(of: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")}


def test_the_sync_face_has_every_method_with_its_signature_and_its_text() -> None:
    assert public(SyncPipelines) == public(Pipelines)
    for name in public(Pipelines):
        ours, theirs = getattr(SyncPipelines, name), getattr(Pipelines, name)
        assert inspect.signature(ours) == inspect.signature(theirs)
        assert ours.__doc__ == theirs.__doc__


class Api(httpx2.AsyncBaseTransport):
    """Answers with one pipeline, and takes down what it was asked."""

    def __init__(self, answer: Callable[[httpx2.Request], httpx2.Response] | None = None) -> None:
        self.requests: list[httpx2.Request] = []
        self._answer = answer or (lambda _: httpx2.Response(201, json=PIPELINE_EXAMPLE))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        return self._answer(request)

    def body(self) -> Any:
        return json.loads(self.requests[-1].content)


async def test_what_is_said_in_python_goes_over_the_wire_as_json() -> None:
    api = Api()
    client = Client("http://x", transport=api)
    submitted = await client.pipelines.submit(
        {
            "extract": JobSpec(kind="etl.extract", timeout=timedelta(minutes=5)),
            "load": {"kind": "etl.load", "needs": ["extract"], "deadline": timedelta(hours=1)},
        },
        deadline=timedelta(hours=6),
        on_failure=None,
    )
    body = api.body()
    assert len(body.pop("id")) == 26
    assert body == {
        "jobs": {
            "extract": {"kind": "etl.extract", "timeout": "5m"},
            "load": {"kind": "etl.load", "needs": ["extract"], "deadline": "1h"},
        },
        "deadline": "6h",
    }
    assert len(api.requests[-1].headers["Idempotency-Key"]) == 32
    assert submitted.created
    assert submitted.jobs["extract"].state is State.SUCCEEDED


async def test_with_a_key_of_the_callers_the_id_is_left_to_it() -> None:
    api = Api(lambda _: httpx2.Response(200, json=PIPELINE_EXAMPLE, headers={"Idempotency-Replayed": "true"}))
    submitted = await Client("http://x", transport=api).pipelines.submit_spec(
        {"jobs": {}}, idempotency_key="k"
    )
    assert api.body() == {"jobs": {}}
    assert api.requests[-1].headers["Idempotency-Key"] == "k"
    assert not submitted.created


async def test_a_wait_that_is_over_tells_how_the_pipeline_stands() -> None:
    api = Api(lambda _: httpx2.Response(202, json=PIPELINE_EXAMPLE))
    with pytest.raises(
        errors.PipelineWaitTimeout, match="'daily-2026-11-30' is not final yet but running"
    ) as over:
        await Client("http://x", transport=api).pipelines.wait_for("daily-2026-11-30", 0)
    assert over.value.pipeline.counts[State.SUCCEEDED] == 1
    assert api.requests[-1].url.path == "/v1/pipelines/daily-2026-11-30/result"


async def test_events_are_read_to_the_end() -> None:
    ended = {name: {**job, "state": "succeeded"} for name, job in PIPELINE_EXAMPLE["jobs"].items()}
    moments = [PipelineMoment(pipeline()), PipelineMoment(pipeline(state="succeeded", jobs=ended))]
    stream = b"".join(moment.since(None) or b"" for moment in moments)
    api = Api(lambda _: httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=stream))
    events = [event async for event in Client("http://x", transport=api).pipelines.events("p")]
    assert [(event.name, event.pipeline.state) for event in events] == [
        ("state", State.RUNNING),
        ("done", State.SUCCEEDED),
    ]
    assert events[0].pipeline.jobs == {
        "extract": "succeeded",
        "transform": "running",
        "load": "waiting",
        "alert": "waiting",
    }
    assert isinstance(events[1].pipeline, PipelineView)


def test_an_event_is_news_only_when_a_job_has_moved() -> None:
    one = PipelineMoment(pipeline())
    path = {"jobs": [], "took": "9m", "final": False}
    assert PipelineMoment(pipeline(critical_path=path)).since(one.id) is None, "time alone is no news"
    moved = {**PIPELINE_EXAMPLE["jobs"], "load": {**PIPELINE_EXAMPLE["jobs"]["load"], "state": "queued"}}
    assert PipelineMoment(pipeline(jobs=moved)).since(one.id) is not None
    assert PipelineMoment(pipeline(run_id="another")).since(one.id) is not None
    counted = {
        **PIPELINE_EXAMPLE["jobs"],
        "load": {**PIPELINE_EXAMPLE["jobs"]["load"], "items": {"total": 2}},
    }
    assert b'"items":{"load":{"total":2,' in (PipelineMoment(pipeline(jobs=counted)).since(one.id) or b"")


@pytest.mark.parametrize("call", ["get", "graph", "cancel", "retry", "wait_for"])
async def test_the_fake_refuses_pipelines_in_so_many_words(call: str) -> None:
    with pytest.raises(errors.ApiError, match="FakeDuetime runs no pipelines") as refused:
        await getattr(FakeDuetime().client().pipelines, call)("p")
    assert refused.value.status == 501


# -- for a terminal -----------------------------------------------------------------------------------------


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    text = io.StringIO()
    with redirect_stdout(text):
        yield text


def test_a_page_tells_every_job_and_where_the_time_went(out: io.StringIO) -> None:
    jobs = dict(PIPELINE_EXAMPLE["jobs"])
    jobs["load"] = {**jobs["load"], "state": "failed", "error": {"type": "Boom", "message": "\x1b[31mno"}}
    jobs["transform"] = {**jobs["transform"], "items": {"total": 120, "done": 37, "failed": 0}}
    jobs["spare"] = {**jobs["load"], "kind": "etl.spare", "needs": [], "reason": "room", "error": None}
    jobs["spare"]["state"] = "waiting"
    show_pipeline(pipeline(jobs=jobs, halt="cancelled"), console(out))
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert lines[0] == "daily-2026-11-30 running"
    assert "critical path extract → transform (5m1s so far)" in lines
    assert "extract succeeded etl.extract 3m59s" in lines
    assert "transform running etl.transform extract 37 of 120" in lines
    assert "alert waiting mail.send load (any_failed)" in lines
    assert "halted by cancelled" in lines
    assert "spare waiting etl.spare for room (max_parallel)" in lines
    assert "load failed etl.load transform Boom: \\x1b[31mno" in lines
    assert "\x1b" not in out.getvalue()


def test_a_list_and_a_line_of_an_event(out: io.StringIO) -> None:
    show_pipelines([summary_of(pipeline())], console(out))
    assert "2 waiting" in out.getvalue()
    before = progress_of(pipeline())
    after = before.model_copy(update={"jobs": {**before.jobs, "transform": State.SUCCEEDED}})
    assert event_line(before, None).plain.endswith("running  1 succeeded, 1 running, 2 waiting")
    assert event_line(after, before).plain.endswith("  transform succeeded")
    some, more = (
        before.model_copy(update={"items": {"transform": ItemsView(total=9, done=n)}}) for n in (3, 4)
    )
    assert event_line(more, some).plain.endswith("  transform running 4 of 9")
    assert event_line(more, more).plain == event_line(more, None).plain


def test_a_file_that_is_no_pipeline_is_refused_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content, word in (
        (b"{", "is not JSON"),
        (b"[]", "must hold a JSON object"),
        (b'{"a":1,"a":2}', "twice"),
    ):
        file = tmp_path / "pipeline.json"
        file.write_bytes(content)
        assert run(["pipelines", "submit", str(file)]) == 2
        assert word in capsys.readouterr().err
    assert run(["pipelines", "submit", str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
