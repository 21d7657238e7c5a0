"""Keys that are bound to queues and kinds, over the real server: the jobs of others do not exist for them."""

from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from api.kinds.known import Known
from api.security.caller import ANYBODY, Caller
from api.security.scopes import Scope
from duetime.contracts.kinds import KindEntry
from tests.security.keyring import Keyring, bearer

KIND = "bound.kind"


class Someone:
    """A caller with a key, who submits to one queue."""

    def __init__(self, http: httpx2.AsyncClient, secret: str, queue: str) -> None:
        self._http = http
        self._headers = bearer(secret)
        self.queue = queue

    async def submit(self, key: str | None = None, **fields: Any) -> httpx2.Response:
        """A job for tomorrow, so that it stays as it is."""
        job = {"kind": KIND, "queue": self.queue, "delay": "1d", **fields}
        headers = {**self._headers, **({"Idempotency-Key": key} if key else {})}
        return await self._http.post("/v1/jobs", json=job, headers=headers)

    async def call(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return await self._http.request(method, path, headers=self._headers, **options)


@pytest.fixture
def owner(http: httpx2.AsyncClient, keyring: Keyring, queue: str) -> Someone:
    """Bound to the queue of the test."""
    return Someone(http, keyring.add("submit", "operate", queues=(queue,)), queue)


@pytest.fixture
def neighbour(http: httpx2.AsyncClient, keyring: Keyring, queue: str) -> Someone:
    """May do the same, on another queue."""
    return Someone(http, keyring.add("submit", "operate", queues=(f"{queue}-other",)), f"{queue}-other")


#: Every call on one job.
CALLS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("GET", "/result", None),
    ("GET", "/events", None),
    ("PATCH", "", {"priority": 1}),
    ("POST", ":run-now", None),
    ("POST", ":cancel", {}),
    ("POST", ":retry", {}),
]


async def test_a_job_of_another_queue_is_like_none(owner: Someone, neighbour: Someone, job_id: str) -> None:
    assert (await owner.submit(id=job_id)).status_code == 201
    for method, what, body in CALLS:
        options = {"json": body} if body is not None else {}
        hidden = await neighbour.call(method, f"/v1/jobs/{job_id}{what}", **options)
        absent = await neighbour.call(method, f"/v1/jobs/{job_id[::-1]}{what}", **options)
        assert hidden.status_code == absent.status_code == 404, what
        assert hidden.text == absent.text.replace(job_id[::-1], job_id), "not a word tells them apart"
    seen = await owner.call("GET", f"/v1/jobs/{job_id}")
    assert (seen.status_code, seen.json()["state"]) == (200, "scheduled")


async def test_what_is_of_another_kind_is_like_none(
    http: httpx2.AsyncClient, keyring: Keyring, owner: Someone, job_id: str
) -> None:
    assert (await owner.submit(id=job_id)).status_code == 201
    for kinds, status in (((KIND,), 200), (("another",), 404)):
        reader = Someone(http, keyring.add("read", kinds=kinds), owner.queue)
        assert (await reader.call("GET", f"/v1/jobs/{job_id}")).status_code == status


@pytest.mark.parametrize(
    ("bounds", "field", "job"),
    [
        ({"queues": ("mail", "reports")}, "/queue", {"queue": "other"}),
        ({"queues": ("mail",)}, "/queue", {}),  # which means the queue `default`
        ({"kinds": ("mail.send",)}, "/kind", {"kind": "mail.drop"}),
    ],
)
async def test_a_submission_out_of_bounds_names_the_field(
    http: httpx2.AsyncClient, keyring: Keyring, bounds: dict[str, Any], field: str, job: dict[str, str]
) -> None:
    headers = bearer(keyring.add("submit", **bounds))
    answer = await http.post("/v1/jobs", json={"kind": "some", "queue": "default", **job}, headers=headers)
    assert answer.status_code == 403
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == field
    (allowed,) = bounds.values()
    assert fault["message"].endswith(f"it is bound to {', '.join(allowed)}")


async def test_everything_that_is_out_of_bounds_is_told_at_once(
    http: httpx2.AsyncClient, keyring: Keyring
) -> None:
    headers = bearer(keyring.add("submit", queues=("mail",), kinds=("mail.send",)))
    answer = await http.post(
        "/v1/jobs", json={"kind": "a", "queue": "b", "on_conflict": "replace"}, headers=headers
    )
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/kind", "/queue", "/on_conflict"]


@pytest.mark.parametrize(
    "wish",
    [{}, {"on_conflict": "return"}, {"on_conflict": "replace"}, {"reuse_id": True}],
)
async def test_an_id_of_a_neighbour_is_taken_and_that_is_all_one_learns(
    owner: Someone, neighbour: Someone, job_id: str, wish: dict[str, Any]
) -> None:
    assert (await owner.submit(id=job_id, payload={"secret": "of the owner"})).status_code == 201
    for finished in (False, True):
        if finished:
            assert (await owner.call("POST", f"/v1/jobs/{job_id}:cancel")).status_code == 202
        answer = await neighbour.submit(id=job_id, **wish)
        assert answer.status_code == 409
        assert "job" not in answer.json()
        assert (
            answer.json()["detail"]
            == "a job of another caller, or a workflow of another type, has this id; choose another"
        )
    run = (await owner.call("GET", f"/v1/jobs/{job_id}")).json()
    assert (run["state"], run["payload"]) == ("cancelled", {"secret": "of the owner"})


async def test_an_idempotency_key_of_a_neighbour_brings_nothing_back(
    owner: Someone, neighbour: Someone, job_id: str
) -> None:
    assert (await owner.submit(key=job_id)).status_code == 201
    assert (await owner.submit(key=job_id)).headers["idempotency-replayed"] == "true"
    answer = await neighbour.submit(key=job_id, queue=neighbour.queue)
    assert answer.status_code == 409
    assert "job" not in answer.json()


async def test_one_cannot_come_after_what_one_cannot_see(
    owner: Someone, neighbour: Someone, job_id: str
) -> None:
    assert (await owner.submit(id=job_id)).status_code == 201
    assert (await owner.submit(after=[job_id])).status_code == 201
    hidden = await neighbour.submit(after=[job_id])
    absent = await neighbour.submit(after=[job_id[::-1]])
    assert hidden.status_code == absent.status_code == 422
    assert hidden.text == absent.text.replace(job_id[::-1], job_id)


# --- what a submission may do to the job that is there ---


async def test_submitting_alone_neither_reads_nor_ends_a_job(
    http: httpx2.AsyncClient, keyring: Keyring, owner: Someone, job_id: str
) -> None:
    assert (await owner.submit(id=job_id, payload={"secret": 1})).status_code == 201
    submitter = Someone(http, keyring.add("submit"), owner.queue)
    for wish in ("return", "replace"):
        refused = await submitter.submit(id=job_id, on_conflict=wish)
        assert refused.status_code == 403
        assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/on_conflict"]
    conflict = await submitter.submit(id=job_id)
    assert conflict.status_code == 409
    assert "job" not in conflict.json() and "scheduled" in conflict.json()["detail"]

    reader = Someone(http, keyring.add("submit", "read"), owner.queue)
    assert (await reader.submit(id=job_id, on_conflict="return")).json()["payload"] == {"secret": 1}
    assert (await reader.submit(id=job_id)).json()["job"]["payload"] == {"secret": 1}
    assert (await reader.submit(id=job_id, on_conflict="replace")).status_code == 403
    assert (await owner.submit(id=job_id, on_conflict="replace")).status_code == 201


# --- the rule itself ---


@pytest.mark.parametrize(
    ("queues", "kinds", "kind", "queue", "sees"),
    [
        (None, None, "k", "q", True),
        (None, None, None, None, True),
        (["q"], None, "k", "q", True),
        (["q"], None, "k", "p", False),
        (["q"], None, None, "q", True),
        (["q"], None, "k", None, False),
        (None, ["k"], "k", "q", True),
        (None, ["k"], "l", "q", False),
        (["q"], ["k"], "k", "p", False),
        (["q"], ["k"], "l", "q", False),
        (["q"], ["k"], "k", "q", True),
        (["q", "p"], ["k"], "k", "p", True),
    ],
)
def test_what_a_caller_may_see(
    queues: list[str] | None, kinds: list[str] | None, kind: str | None, queue: str | None, sees: bool
) -> None:
    caller = Caller(
        "x",
        frozenset(Scope),
        queues=None if queues is None else frozenset(queues),
        kinds=None if kinds is None else frozenset(kinds),
    )
    assert caller.may_see(kind, queue) is sees
    assert caller.is_bound is (queues is not None or kinds is not None)


def test_anybody_may_do_everything() -> None:
    assert all(ANYBODY.may(scope) for scope in Scope)
    assert ANYBODY.may_see("any", "any") and not ANYBODY.is_bound
    ANYBODY.check_submission("any", "any", "replace")


async def test_kinds_are_listed_within_bounds(
    keyed: FastAPI, http: httpx2.AsyncClient, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {
        kind: {queue: KindEntry(kind=kind, queue=queue) for queue in ("mail", "reports")}
        for kind in ("a.kind", "b.kind")
    }

    async def known(_: Known) -> Any:
        return entries

    monkeypatch.setattr(Known, "all", known)
    for bounds, seen in (
        ({}, {"a.kind": ["mail", "reports"], "b.kind": ["mail", "reports"]}),
        ({"queues": ("mail",)}, {"a.kind": ["mail"], "b.kind": ["mail"]}),
        ({"kinds": ("b.kind",)}, {"b.kind": ["mail", "reports"]}),
        ({"queues": ("elsewhere",)}, {}),
    ):
        headers = bearer(keyring.add("read", **bounds))
        listed = (await http.get("/v1/kinds", headers=headers)).json()["kinds"]
        assert {found["kind"]: [one["queue"] for one in found["queues"]] for found in listed} == seen
        status = (await http.get("/v1/kinds/a.kind", headers=headers)).status_code
        assert status == (200 if "a.kind" in seen else 404)


async def test_warnings_name_no_queue_of_others(
    http: httpx2.AsyncClient, keyring: Keyring, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def known(*_: Any) -> Any:
        return {"of-others": KindEntry(kind=KIND, queue="of-others")}

    monkeypatch.setattr(Known, "kind", known)
    job = {"kind": KIND, "queue": queue, "delay": "1d"}
    bound = await http.post("/v1/jobs", json=job, headers=bearer(keyring.add("submit", queues=(queue,))))
    free = await http.post("/v1/jobs", json=job, headers=bearer(keyring.add("submit")))
    assert "of-others" in str(free.json()["warnings"])
    assert "of-others" not in bound.text


async def test_a_stream_ends_when_the_id_becomes_somebody_elses(
    keyed: FastAPI, http: httpx2.AsyncClient, keyring: Keyring, owner: Someone, job_id: str
) -> None:
    assert (await owner.submit(id=job_id)).status_code == 201
    caller = Caller("owner", frozenset([Scope.READ]), queues=frozenset([owner.queue]))
    listener = await keyed.state.jobs.events.listen(job_id, caller)
    try:
        events = listener.events(None)
        told = [await anext(events), await anext(events)]
        assert owner.queue in told[1].decode()
        other = Someone(http, keyring.add("admin"), f"{owner.queue}-other")
        replaced = await other.submit(id=job_id, on_conflict="replace", payload={"secret": 1})
        assert replaced.status_code == 201
        rest = b"".join([event async for event in events]).decode()
        assert other.queue not in rest and replaced.json()["run_id"] not in rest
    finally:
        listener.close()
