"""Pipelines over HTTP, from asyncio: `Client.pipelines`."""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypedDict, Unpack

from pydantic import BaseModel, Field

from duetime.client.answer import read
from duetime.client.call import Call, Repeat, pipeline_path
from duetime.client.events import Listener, PipelineEvent
from duetime.client.fields import Moment, OnConflict, check_key, new_key, query_of, wire
from duetime.client.sender import Sender
from duetime.client.waiting import poll_at, span, waited
from duetime.contracts.duration import Duration
from duetime.contracts.ids import new_id
from duetime.contracts.pipeline_view import PipelinePage, PipelineSummary, PipelineView
from duetime.contracts.states import FINAL
from duetime.errors import PipelineWaitTimeout

#: A job of a pipeline: the fields of a submission, with `needs`, `when` and `for_each`.
PipelineJobFields = Mapping[str, Any] | BaseModel
GraphFormat = Literal["mermaid", "svg"]


class PipelineFields(TypedDict, total=False):
    """The fields of a pipeline beside its jobs. `None` is the same as leaving a field out."""

    id: str | None
    max_parallel: int | None
    on_failure: Literal["continue", "stop"] | None
    deadline: Duration | None
    on_conflict: OnConflict | None
    reuse_id: bool | None


class PipelineFilters(TypedDict, total=False):
    """Which pipelines: everything given must hold."""

    state: str | Sequence[str] | None
    schedule_id: str | None
    created_after: Moment | None
    created_before: Moment | None


class SubmittedPipeline(PipelineView):
    """The pipeline that a submission led to."""

    #: Whether this call made it; `False` for one that was there (its Idempotency-Key, or `on_conflict="return"`).
    created: bool = Field(True, exclude=True)


class Pipelines:
    """Jobs ordered by their needs, submitted, followed and ended as one."""

    def __init__(self, sender: Sender, listener: Listener) -> None:
        self._sender = sender
        self._listener = listener

    async def submit(
        self,
        jobs: Mapping[str, PipelineJobFields],
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[PipelineFields],
    ) -> SubmittedPipeline:
        """Hands a pipeline over; it is durable when this returns.

        `jobs` holds each job by its name, with the fields of a submission and `needs`, `when`, `for_each`:

        >>> jobs = {"extract": {"kind": "etl.extract"}, "load": {"kind": "etl.load", "needs": ["extract"]}}

        Without `idempotency_key` the call has one of its own, so that its repetitions make one pipeline.
        """
        return await self.submit_spec({"jobs": jobs, **fields}, idempotency_key=idempotency_key)

    async def submit_spec(
        self, spec: Mapping[str, Any] | BaseModel, *, idempotency_key: str | None = None
    ) -> SubmittedPipeline:
        """`submit` for a pipeline that is one document already: a mapping, as from JSON, or a model."""
        given = (
            spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
            if isinstance(spec, BaseModel)
            else spec
        )
        body = wire(given)
        ours = check_key(idempotency_key) is None
        if ours:
            # A key alone determines the id, which then does not sort by time.
            body.setdefault("id", new_id(datetime.now(UTC)))
        call = Call("POST", "/v1/pipelines", body=body, key=idempotency_key or new_key())
        response = await self._sender.send(call)
        pipeline = read(SubmittedPipeline, response)
        # A replay of our own key is an answer that was lost on its way.
        replayed = response.headers.get("Idempotency-Replayed") == "true"
        pipeline.created = response.status_code == 201 or (ours and replayed)
        return pipeline

    async def get(self, pipeline_id: str) -> PipelineView:
        """The pipeline with the state of each of its jobs, exact and current."""
        return await self._pipeline(Call("GET", pipeline_path(pipeline_id)))

    async def wait_for(self, pipeline_id: str, wait: Duration | None = None) -> PipelineView:
        """The pipeline once it is final, however it ended; `PipelineWaitTimeout` when it is not after `wait` (`None`:
        for ever)."""
        left = None if wait is None else span("wait", wait)
        while True:
            call = poll_at(pipeline_path(pipeline_id, "/result"), left)
            began = time.monotonic()
            response = await self._sender.send(call)
            pipeline = read(PipelineView, response)
            if pipeline.state in FINAL:
                return pipeline
            if left is not None:
                left -= waited(call, response, timedelta(seconds=time.monotonic() - began))
                if left <= timedelta(0):
                    raise PipelineWaitTimeout(pipeline)

    async def list(
        self, *, page_size: int = 100, **filters: Unpack[PipelineFilters]
    ) -> AsyncGenerator[PipelineSummary]:
        """All pipelines that the filters hold, page by page: open ones first, then the last closed."""
        cursor: str | None = None
        while True:
            page = await self.page(limit=page_size, cursor=cursor, **filters)
            for pipeline in page.pipelines:
                yield pipeline
            cursor = page.next_cursor
            if cursor is None:
                return

    async def page(
        self, *, limit: int | None = None, cursor: str | None = None, **filters: Unpack[PipelineFilters]
    ) -> PipelinePage:
        """One page of the list (up to 200). `next_cursor` goes on."""
        query = query_of({**filters, "limit": limit, "cursor": cursor})
        return read(PipelinePage, await self._sender.send(Call("GET", "/v1/pipelines", query=query)))

    async def events(
        self, pipeline_id: str, *, last_event_id: str | None = None
    ) -> AsyncGenerator[PipelineEvent]:
        """What happens to the pipeline's jobs, from now or from after `last_event_id`, until it is final.

        A broken stream is gone on with where it broke. Very short states may merge.
        """
        call = Call("GET", pipeline_path(pipeline_id, "/events"))
        async for event in self._listener.pipeline(call, last_event_id):
            yield event

    async def graph(self, pipeline_id: str, format: GraphFormat = "mermaid") -> str:
        """The pipeline drawn: text for Mermaid, or a picture as SVG."""
        call = Call("GET", pipeline_path(pipeline_id, "/graph"), query={"format": format})
        return (await self._sender.send(call)).text

    async def cancel(
        self,
        pipeline_id: str,
        *,
        mode: Literal["graceful", "force"] | None = None,
        grace: Duration | None = None,
        reason: str | None = None,
    ) -> PipelineView:
        """Cancels all that is not finished. `graceful` lets running handlers clean up for `grace`."""
        body = wire({"mode": mode, "grace": grace, "reason": reason})
        return await self._pipeline(Call("POST", pipeline_path(pipeline_id, ":cancel"), body=body))

    async def retry(self, pipeline_id: str, *, run_id: str | None = None) -> PipelineView:
        """Runs again what failed, and what was skipped or cancelled because of it. Not sent again if it may have been
        done; `run_id` refuses unless that is the newest run."""
        body = wire({"run_id": run_id})
        call = Call("POST", pipeline_path(pipeline_id, ":retry"), body=body, repeat=Repeat.IF_NOT_DONE)
        return await self._pipeline(call)

    async def _pipeline(self, call: Call) -> PipelineView:
        return read(PipelineView, await self._sender.send(call))
