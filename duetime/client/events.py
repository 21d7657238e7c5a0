"""Server-Sent Events of one job or pipeline, gone on with after every interruption."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol, TypeVar

import httpx2
from pydantic import ValidationError

from duetime.client.answer import error_of, not_understood
from duetime.client.call import Call, Repeat
from duetime.client.connections import Connections
from duetime.client.patience import PASSING, Fate, wait_before_repeat
from duetime.client.sender import no_answer
from duetime.contracts.pipeline_view import PipelineProgress, PipelineView
from duetime.contracts.states import FINAL
from duetime.contracts.view import JobSummary, JobView
from duetime.errors import ApiError

log = logging.getLogger("duetime.client")

#: Seconds. Without even a comment for so long nobody is there: the API says something every 15 s.
_SILENCE = 45.0
#: A whole job at its end: payload, result, checkpoint and all attempts with their stacks.
_LARGEST = 16 * 1024 * 1024

EventName = Literal["state", "progress", "done"]


@dataclass(frozen=True)
class JobEvent:
    """News of a job. `id` is what `last_event_id` takes."""

    id: str
    name: EventName
    #: The whole job when it is `done`, its summary before that.
    job: JobView | JobSummary

    @property
    def is_last(self) -> bool:
        return self.job.state in FINAL


@dataclass(frozen=True)
class PipelineEvent:
    """News of a pipeline. `id` is what `last_event_id` takes."""

    id: str
    name: Literal["state", "done"]
    #: The whole pipeline when it is `done`, until then its summary with the state of each job.
    pipeline: PipelineView | PipelineProgress

    @property
    def is_last(self) -> bool:
        return self.pipeline.state in FINAL


class _Event(Protocol):
    @property
    def is_last(self) -> bool:
        """Whether nothing more comes after it."""


E = TypeVar("E", bound=_Event)


class _Over(Exception):
    """Nothing more comes."""


class Listener:
    """Follows jobs of the API at `url`; `patience` bounds how long it tries to get back to a stream."""

    def __init__(self, url: str, connections: Connections, patience: timedelta) -> None:
        self._url = url
        self._connections = connections
        self._patience = patience

    async def listen(self, call: Call, last_event_id: str | None) -> AsyncGenerator[JobEvent]:
        """What happens to a job after `last_event_id`, to the end. `ApiError` when the API refuses or stays away."""
        async for event in self._follow(call, last_event_id, _job_event):
            yield event

    async def pipeline(self, call: Call, last_event_id: str | None) -> AsyncGenerator[PipelineEvent]:
        """The same of a pipeline."""
        async for event in self._follow(call, last_event_id, _pipeline_event):
            yield event

    async def _follow(
        self, call: Call, last_event_id: str | None, read: Callable[[httpx2.ServerSentEvent], E]
    ) -> AsyncGenerator[E]:
        tries, heard_at, pause = 0, time.monotonic(), timedelta(0)
        while True:
            error: ApiError | None = None
            try:
                async for told in self._stream(call, last_event_id):
                    tries, heard_at = 0, time.monotonic()
                    last_event_id = told.id or last_event_id
                    if told.retry is not None:
                        pause = timedelta(milliseconds=told.retry)
                    if told.data:
                        event = self._read(call, told, read)
                        yield event
                        if event.is_last:
                            return
                        heard_at = time.monotonic()  # what the caller did meanwhile does not count
            except _Over:
                return
            except httpx2.TransportError as failure:
                error = no_answer(self._url, failure)
            except ApiError as refusal:
                if refusal.status not in PASSING:
                    raise
                error = refusal
            left = self._patience - timedelta(seconds=time.monotonic() - heard_at)
            least = error.retry_after if error and error.retry_after else pause
            chance = random.random()  # noqa: S311
            wait = wait_before_repeat(Fate.NOT_DONE, Repeat.ALWAYS, tries, left, chance, least)
            tries += 1
            if wait is None:
                raise error or no_answer(self._url, httpx2.ReadError("it ends again and again"))
            log.info("%s: %s; again in %.1f s", call, error or "the stream ended", wait.total_seconds())
            await asyncio.sleep(wait.total_seconds())

    async def _stream(self, call: Call, last_event_id: str | None) -> AsyncGenerator[httpx2.ServerSentEvent]:
        """One connection's worth of events."""
        pool = self._connections.pool()
        headers = {"Last-Event-ID": last_event_id} if last_event_id is not None else {}
        patience = httpx2.Timeout(_SILENCE, connect=pool.timeout.connect)
        url = self._url + call.path
        async with pool.sse(url, headers=headers, timeout=patience, max_event_size=_LARGEST) as source:
            if source.response.status_code == httpx2.codes.NO_CONTENT:
                raise _Over
            if not source.response.is_success:
                await source.response.aread()
                raise error_of(source.response)
            async for event in source:
                yield event

    def _read(
        self, call: Call, told: httpx2.ServerSentEvent, read: Callable[[httpx2.ServerSentEvent], E]
    ) -> E:
        try:
            return read(told)
        except ValidationError:
            raise not_understood(self._url + call.path, 200, "event of this") from None


def _job_event(told: httpx2.ServerSentEvent) -> JobEvent:
    name: EventName = "state"
    match told.event:
        case "done" | "progress" as known:
            name = known
    model = JobView if name == "done" else JobSummary
    return JobEvent(told.id, name, model.model_validate_json(told.data))


def _pipeline_event(told: httpx2.ServerSentEvent) -> PipelineEvent:
    if told.event == "done":
        return PipelineEvent(told.id, "done", PipelineView.model_validate_json(told.data))
    return PipelineEvent(told.id, "state", PipelineProgress.model_validate_json(told.data))
