"""`Client`: jobs over HTTP, from asyncio."""

import ssl
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, Unpack

import httpx2
from pydantic import Field

from duetime.client.address import find_address
from duetime.client.answer import read
from duetime.client.batch import BatchItem, chunks, hand_over
from duetime.client.call import Call, Repeat, job_path
from duetime.client.connections import Connections
from duetime.client.events import JobEvent, Listener
from duetime.client.fields import (
    ChangeFields,
    Filters,
    JobFields,
    Payload,
    body_of,
    body_of_mapping,
    body_of_spec,
    check_key,
    new_key,
    query_of,
    wire,
)
from duetime.client.operations import OperationCalls
from duetime.client.pipelines import Pipelines
from duetime.client.queues import QueueCalls
from duetime.client.schedules import Schedules
from duetime.client.sender import Sender
from duetime.client.waiting import poll, span, waited
from duetime.contracts.duration import Duration
from duetime.contracts.ids import new_id
from duetime.contracts.job import JobSpec
from duetime.contracts.kinds import KindList, KindView
from duetime.contracts.states import FINAL
from duetime.contracts.view import JobCounts, JobPage, JobSummary, JobView
from duetime.errors import WaitTimeout, result_of


class Options(TypedDict, total=False):
    """How to reach the API."""

    #: By default that of `DUETIME_API_KEY`; none when that is not set either.
    api_key: str | None
    #: What a call may take with all its repetitions, but for the time it waits for a job on purpose; 30 s.
    timeout: Duration
    #: Trusts other authorities than the machine does, or shows a certificate of ours.
    tls: ssl.SSLContext | None
    #: Whether proxies and certificates of the environment count; by default unless the API is on this machine.
    trust_env: bool | None
    #: Instead of the network, for tests.
    transport: httpx2.AsyncBaseTransport | None


class Submitted(JobView):
    """The job that a submission led to."""

    #: Whether this call made it; `False` for one that was there (its Idempotency-Key, or `on_conflict="return"`).
    created: bool = Field(True, exclude=True)


class Client(OperationCalls, QueueCalls):
    """The API at `url`, by default that of `DUETIME_URL` or `http://127.0.0.1:8000`; `duetime.SyncClient` is the same
    without `await`.

    `options` are those of `Options`. Raises `BadSetting`.

    Calls are repeated where that is safe; what is raised in the end is one of `duetime.errors`. Use it from several
    tasks at once, and close it at the end, or leave it as a context:

    >>> async with Client() as client:  # doctest: +SKIP
    ...     job = await client.submit("reminder.send", {"to": "a@example.org"}, delay="15m")
    """

    def __init__(self, url: str | None = None, **options: Unpack[Options]) -> None:
        address = find_address(url, options.get("api_key"))
        self.url = address.url
        self._connections = Connections(
            address, options.get("tls"), options.get("transport"), options.get("trust_env")
        )
        patience = span("timeout", options.get("timeout", "30s"))
        self._sender = Sender(address.url, self._connections, patience)
        #: Recurring rules.
        self.schedules = Schedules(self._sender)
        self._listener = Listener(address.url, self._connections, patience)
        #: Pipelines: `await client.pipelines.submit({…})`.
        self.pipelines = Pipelines(self._sender, self._listener)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections that the running event loop has."""
        await self._connections.close()

    # -- submitting ---------------------------------------------------------------------------------------

    async def submit(
        self,
        kind: str,
        payload: Payload | None = None,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[JobFields],
    ) -> Submitted:
        """Hands a job over; it is durable when this returns.

        Without `idempotency_key` the call has one of its own, so that its repetitions make one job. Give one to make
        one job of several calls: over a restart of the caller, say.
        """
        return await self._submit(body_of(kind, payload, fields), idempotency_key)

    async def submit_spec(self, spec: JobSpec, *, idempotency_key: str | None = None) -> Submitted:
        """`submit` for a job that is a model already."""
        return await self._submit(body_of_spec(spec), idempotency_key)

    async def batch(
        self, jobs: Iterable[JobSpec | Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> list[BatchItem]:
        """Hands many jobs over, each accepted or refused for itself; what became of each, in their order.

        Any number: 1,000 go in one call. Mappings have the fields of a submission. With `idempotency_key` the same jobs
        must come in the same order again. A job that cannot be said in JSON raises before anything is sent.
        """
        ours = check_key(idempotency_key) is None
        key = idempotency_key or new_key()
        bodies = [body_of_spec(job) if isinstance(job, JobSpec) else body_of_mapping(job) for job in jobs]
        if ours:
            for body in bodies:
                body.setdefault("id", new_id(datetime.now(UTC)))
        items: list[BatchItem] = []
        for number, chunk in enumerate(chunks(bodies)):
            part = key if number == 0 else f"{key}+{number}"
            call = Call("POST", "/v1/jobs:batch", body={"jobs": chunk}, key=part)
            items += await hand_over(self._sender, call)
        return items

    async def run(
        self,
        kind: str,
        payload: Payload | None = None,
        *,
        wait: Duration | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[JobFields],
    ) -> Any:
        """Submits a job, waits for its end and returns what its handler returned.

        A `JobNotSucceeded` when it ended otherwise, `WaitTimeout` when it is not final after `wait` (`None`: for ever).
        """
        job = await self.submit(kind, payload, idempotency_key=idempotency_key, **fields)
        return result_of(await self.wait_for(job.id, wait))

    async def _submit(self, body: dict[str, Any], key: str | None) -> Submitted:
        ours = check_key(key) is None
        if ours:
            key = new_key()
            # A key alone determines the id, which then does not sort by time.
            body.setdefault("id", new_id(datetime.now(UTC)))
        response = await self._sender.send(Call("POST", "/v1/jobs", body=body, key=key))
        job = read(Submitted, response)
        # A replay of our own key is an answer that was lost on its way.
        replayed = response.headers.get("Idempotency-Replayed") == "true"
        job.created = response.status_code == 201 or (ours and replayed)
        return job

    # -- reading ------------------------------------------------------------------------------------------

    async def get(self, job_id: str) -> JobView:
        """The job, exact and current."""
        return await self._job(Call("GET", job_path(job_id)))

    async def result(self, job_id: str, wait: Duration = 0) -> JobView:
        """The job once it is final, or as it is when `wait` (up to 60 s) is over."""
        return await self._job(poll(job_id, span("wait", wait)))

    async def wait_for(self, job_id: str, wait: Duration | None = None) -> JobView:
        """The job once it is final, however it ended; `WaitTimeout` when it is not after `wait` (`None`: for ever)."""
        left = None if wait is None else span("wait", wait)
        while True:
            call = poll(job_id, left)
            began = time.monotonic()
            response = await self._sender.send(call)
            job = read(JobView, response)
            if job.state in FINAL:
                return job
            if left is not None:
                left -= waited(call, response, timedelta(seconds=time.monotonic() - began))
                if left <= timedelta(0):
                    raise WaitTimeout(job)

    async def jobs(self, *, page_size: int = 100, **filters: Unpack[Filters]) -> AsyncGenerator[JobSummary]:
        """All jobs that the filters hold, page by page: open ones first, then the last closed."""
        cursor: str | None = None
        while True:
            page = await self.page(limit=page_size, cursor=cursor, **filters)
            for job in page.jobs:
                yield job
            cursor = page.next_cursor
            if cursor is None:
                return

    async def page(
        self, *, limit: int | None = None, cursor: str | None = None, **filters: Unpack[Filters]
    ) -> JobPage:
        """One page of the list (up to 200). `next_cursor` goes on; a page may have fewer jobs than asked, even none."""
        query = query_of({**filters, "limit": limit, "cursor": cursor})
        return read(JobPage, await self._sender.send(Call("GET", "/v1/jobs", query=query)))

    async def count(
        self, *, by: Literal["state", "error"] | None = None, **filters: Unpack[Filters]
    ) -> JobCounts:
        """How many jobs the filters hold, in all or by state; or of those that failed or expired, by type of error."""
        query = query_of({**filters, "by": by})
        return read(JobCounts, await self._sender.send(Call("GET", "/v1/jobs:count", query=query)))

    async def kinds(self) -> list[KindView]:
        """What workers announced that they can run."""
        return read(KindList, await self._sender.send(Call("GET", "/v1/kinds"))).kinds

    async def events(self, job_id: str, *, last_event_id: str | None = None) -> AsyncGenerator[JobEvent]:
        """What happens to the job, from now or from after `last_event_id`, until it is final.

        A broken stream is gone on with where it broke. Very short states may merge.
        """
        call = Call("GET", job_path(job_id, "/events"))
        async for event in self._listener.listen(call, last_event_id):
            yield event

    # -- commands -----------------------------------------------------------------------------------------

    async def move(self, job_id: str, **changes: Unpack[ChangeFields]) -> JobView:
        """Another due time or priority, while `scheduled` or `queued`; `WrongState` when it is too late."""
        return await self._job(Call("PATCH", job_path(job_id), body=wire(changes)))

    async def run_now(self, job_id: str) -> JobView:
        """Starts a `scheduled` job, or a `retrying` one again, now. Not sent again if it may have been done."""
        return await self._job(Call("POST", job_path(job_id, ":run-now"), repeat=Repeat.IF_NOT_DONE))

    async def cancel(
        self,
        job_id: str,
        *,
        mode: Literal["graceful", "force"] | None = None,
        grace: Duration | None = None,
        reason: str | None = None,
    ) -> JobView:
        """Cancels. `graceful` lets a running handler clean up for `grace`; what none holds ends at once."""
        body = wire({"mode": mode, "grace": grace, "reason": reason})
        return await self._job(Call("POST", job_path(job_id, ":cancel"), body=body))

    async def retry(
        self,
        job_id: str,
        *,
        begin: Literal["start", "checkpoint"] | None = None,
        run_id: str | None = None,
        force: bool | None = None,
    ) -> JobView:
        """Redrives a final job under its id. Not sent again if it may have been done.

        `begin="checkpoint"` hands the last checkpoint to the first attempt, `run_id` refuses unless that is the newest
        run, `force` redrives a succeeded one too.
        """
        body = wire({"from": begin, "run_id": run_id, "force": force})
        call = Call("POST", job_path(job_id, ":retry"), body=body, repeat=Repeat.IF_NOT_DONE)
        return await self._job(call)

    async def _job(self, call: Call) -> JobView:
        return read(JobView, await self._sender.send(call))
