"""The fake's API as an HTTP transport, so that the real client talks to it, with all that it does."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import httpx2
from pydantic import BaseModel, ValidationError

from duetime.client.batch import BatchAnswer, BatchItem
from duetime.client.fields import check_key
from duetime.client.waiting import WAITED, WHOLE_WAIT
from duetime.contracts.duration import parse_duration
from duetime.contracts.events import Moment
from duetime.contracts.explain import explain
from duetime.contracts.json_value import JsonTooLarge
from duetime.contracts.kinds import KindList, KindView, ServedOn
from duetime.contracts.problem import ProblemView
from duetime.contracts.requests import CancelRequest, Patch, RedriveRequest, Submission
from duetime.contracts.view import JobView
from duetime.errors import ApiError, invalid_field, too_large
from duetime.testing import listing
from duetime.testing.absent import not_in_the_fake

if TYPE_CHECKING:
    from duetime.testing.fake import FakeDuetime

Model = TypeVar("Model", bound=BaseModel)
Route = Callable[["Web", httpx2.Request, str], Awaitable[httpx2.Response]]


class Web(httpx2.AsyncBaseTransport):
    """Answers requests from a fake."""

    def __init__(self, fake: "FakeDuetime") -> None:
        self._fake = fake

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            for method, pattern, route in _ROUTES:
                match = re.fullmatch(pattern, request.url.raw_path.decode("ascii").partition("?")[0])
                if match and method == request.method:
                    job_id = unquote(match["id"]) if "id" in match.groupdict() else ""
                    return await route(self, request, job_id)
            raise not_in_the_fake(request.method, request.url.path)
        except ApiError as error:
            return _answer(error.status, error.problem, {"Content-Type": "application/problem+json"})

    async def _submit(self, request: httpx2.Request, _: str) -> httpx2.Response:
        key = check_key(request.headers.get("Idempotency-Key"))
        body = _body(request)
        submission = _read(Submission, body)
        with self._fake.held() as service:
            job, created, replayed = service.submit(submission, key, body)
        replay = {"Idempotency-Replayed": "true"} if replayed else {}
        return _answer(201 if created else 200, job, {"Location": job.links.self} | replay)

    async def _batch(self, request: httpx2.Request, _: str) -> httpx2.Response:
        key = check_key(request.headers.get("Idempotency-Key"))
        items: list[BatchItem] = []
        for index, body in enumerate(_body(request)["jobs"]):
            try:
                with self._fake.held() as service:
                    own = f"{key}/{index}" if key is not None else None
                    job, created, _replayed = service.submit(_read(Submission, body), own, body)
                items.append(BatchItem(status=201 if created else 200, job=job))
            except ApiError as error:
                items.append(BatchItem(status=error.status, problem=_within_batch(index, error.problem)))
        return _answer(207, BatchAnswer(jobs=items))

    async def _events(self, request: httpx2.Request, job_id: str) -> httpx2.Response:
        seen = request.headers.get("Last-Event-ID")
        moment = Moment(self._fake.job(job_id))
        if moment.is_final and moment.since(seen) is None:
            return httpx2.Response(204)
        headers = {"Content-Type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=self._fake.news(job_id, seen))

    async def _get(self, request: httpx2.Request, job_id: str) -> httpx2.Response:
        with self._fake.held() as service:
            return _answer(200, service.view(service.job(job_id)))

    async def _result(self, request: httpx2.Request, job_id: str) -> httpx2.Response:
        span = request.extensions.get(WHOLE_WAIT) or parse_duration(request.url.params.get("wait", "0s"))
        job, final = await self._fake.wait(job_id, span)
        response = _answer(200 if final else 202, job)
        response.extensions = {WAITED: span}
        return response

    async def _page(self, request: httpx2.Request, _: str) -> httpx2.Response:
        return _answer(200, listing.page(self._views(), _query(request)))

    async def _count(self, request: httpx2.Request, _: str) -> httpx2.Response:
        return _answer(200, listing.count(self._views(), _query(request)))

    async def _kinds(self, request: httpx2.Request, _: str) -> httpx2.Response:
        with self._fake.held() as service:
            entries = sorted(service.entries(), key=lambda entry: (entry.kind, entry.queue))
        kinds: dict[str, KindView] = {}
        for entry in entries:
            view = kinds.setdefault(
                entry.kind, KindView(kind=entry.kind, description=entry.description, queues=[])
            )
            view.queues.append(
                ServedOn(queue=entry.queue, payload_schema=entry.payload_schema, defaults=entry.defaults)
            )
        return _answer(200, KindList(kinds=list(kinds.values())))

    async def _move(self, request: httpx2.Request, job_id: str) -> httpx2.Response:
        with self._fake.held() as service:
            return _answer(200, service.move(job_id, _read(Patch, _body(request))))

    async def _run_now(self, request: httpx2.Request, job_id: str) -> httpx2.Response:
        with self._fake.held() as service:
            return _answer(200, service.run_now(job_id))

    async def _cancel(self, request: httpx2.Request, job_id: str) -> httpx2.Response:
        with self._fake.held() as service:
            job, grace = service.cancel(job_id, _read(CancelRequest, _body(request)))
        if grace is not None:
            self._fake.give_up_after(job_id, grace)
        return _answer(202, job)

    async def _redrive(self, request: httpx2.Request, job_id: str) -> httpx2.Response:
        with self._fake.held() as service:
            return _answer(200, service.redrive(job_id, _read(RedriveRequest, _body(request))))

    def _views(self) -> list[JobView]:
        return self._fake.jobs()


_ID = r"/v1/jobs/(?P<id>[^/]+?)"
_ROUTES: list[tuple[str, str, Route]] = [
    ("POST", "/v1/jobs", Web._submit),
    ("POST", "/v1/jobs:batch", Web._batch),
    ("GET", "/v1/jobs", Web._page),
    ("GET", "/v1/jobs:count", Web._count),
    ("GET", "/v1/kinds", Web._kinds),
    ("GET", f"{_ID}/result", Web._result),
    ("GET", f"{_ID}/events", Web._events),
    ("POST", f"{_ID}:run-now", Web._run_now),
    ("POST", f"{_ID}:cancel", Web._cancel),
    ("POST", f"{_ID}:retry", Web._redrive),
    ("GET", _ID, Web._get),
    ("PATCH", _ID, Web._move),
]


def _answer(status: int, body: BaseModel, headers: Mapping[str, str] | None = None) -> httpx2.Response:
    told = {"Content-Type": "application/json", **(headers or {})}
    return httpx2.Response(status, content=body.model_dump_json(), headers=told)


def _query(request: httpx2.Request) -> dict[str, list[str]]:
    params = request.url.params
    return {name: params.get_list(name) for name in params}


def _body(request: httpx2.Request) -> Any:
    content = request.content
    return json.loads(content) if content else {}


def _read(model: type[Model], body: Any) -> Model:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        for detail in error.errors():
            cause = detail.get("ctx", {}).get("error")
            if isinstance(cause, JsonTooLarge):
                raise too_large(f"the payload: {cause}") from None
        raise invalid_field(explain(error, model, body)) from None


def _within_batch(index: int, problem: ProblemView) -> ProblemView:
    """The same problem with its pointers into the batch."""
    faults = [
        fault.model_copy(update={"pointer": f"/jobs/{index}{fault.pointer}"})
        if not fault.pointer.startswith("header ")
        else fault
        for fault in problem.errors
    ]
    return problem.model_copy(update={"errors": faults})
