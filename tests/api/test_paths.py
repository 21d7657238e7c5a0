"""Paths, methods and query parameters: ids of every kind, and the commands behind a colon."""

import asyncio

import httpx2
import pytest
from fastapi import FastAPI

from duetime.worker import Worker
from tests.api.caller import Caller, faults, problem
from tests.api.test_bodies import raw

#: What may follow `/v1/jobs/` and names nothing.
NOWHERE = {
    "unknown": "nobody-has-this-id",
    "dot dot": "%2E%2E",
    "parent": "../jobs/x",
    "slash": "a%2Fb",
    "backslash": "a%5Cb",
    "NUL": "a%00b",
    "invalid UTF-8": "%E0",
    "overlong": "%C0%AE%C0%AE",
    "newline": "a%0Ab",
    "CR LF": "a%0D%0AX-Injected:%201",
    "blank": "%20",
    "emoji": "%F0%9F%98%80",
    "percent": "a%25b",
    "tilde": "~",
    "semicolon": "a;b=c",
    "long": "x" * 250,
    "empty": "",
    "deeper": "a/b/c",
    "quotes": "a'%20OR%20'1'='1",
}


@pytest.mark.parametrize("name", NOWHERE)
async def test_ids_that_nobody_has(api: Caller, name: str) -> None:
    for path in (f"/v1/jobs/{NOWHERE[name]}", f"/v1/jobs/{NOWHERE[name]}/result"):
        answer = await api.http.get(path)
        problem(answer, 404, "not-found")
        assert "x-injected" not in answer.headers


async def test_an_id_with_a_slash_is_told_apart_from_a_wrong_path(api: Caller) -> None:
    answer = await api.http.get("/v1/jobs/a%2Fb")
    assert problem(answer, 404, "not-found")["detail"].endswith(
        "no id holds a slash, nor any name but a kind's"
    )
    answer = await api.http.get("/v1/jobs/a/b")
    assert problem(answer, 404, "not-found")["detail"].endswith("/docs shows what there is")


RAW = {
    "up": b"/v1/jobs/../../etc/passwd",
    "dots": b"/v1/jobs/..",
    "encoded up": b"/v1/jobs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "cut off escape": b"/v1/jobs/a%",
    "no escape": b"/v1/jobs/%zz",
    "bytes": b"/v1/jobs/\xe0\xff",
    "absolute": b"http://evil.example/v1/jobs/x",
    "no slash": b"v1/jobs/x",
    "asterisk": b"*",
}


@pytest.mark.parametrize("name", RAW)
async def test_paths_as_no_library_sends_them(address: str, name: str) -> None:
    reader, writer = await raw(address, b"GET " + RAW[name] + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    status = int((await asyncio.wait_for(reader.readline(), 60)).split()[1])
    assert status in (400, 404), status
    writer.close()


async def test_an_id_longer_than_any(api: Caller) -> None:
    for answer in (
        await api.http.get(f"/v1/jobs/{'x' * 251}"),
        await api.command("x" * 5000, "cancel"),
    ):
        assert list(faults(answer)) == ["path job_id"]


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/job", "/v2/jobs", "/V1/jobs", "/v1/jobs/", "//v1/jobs", "/v1/jobs/x/y"]
)
async def test_paths_that_are_none(api: Caller, path: str) -> None:
    """No redirect either: `/v1/jobs/` is not `/v1/jobs`."""
    answer = await api.http.get(path)
    assert answer.status_code in (404, 405)
    problem(answer, answer.status_code)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/jobs/x", "GET, HEAD, PATCH"),
        ("PUT", "/v1/jobs/x", "GET, HEAD, PATCH"),
        ("GET", "/v1/jobs/x:cancel", None),
        ("POST", "/v1/jobs/x", "GET, HEAD, PATCH"),
        ("PUT", "/v1/jobs/x:cancel", "GET, HEAD, POST, PATCH"),
        ("POST", "/v1/jobs/x/result", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("TRACE", "/v1/jobs/x", "GET, HEAD, PATCH"),
        ("BREW", "/v1/kinds", "GET, HEAD"),
    ],
)
async def test_methods_that_a_path_does_not_take(
    api: Caller, method: str, path: str, allowed: str | None
) -> None:
    answer = await api.http.request(method, path)
    if allowed is None:
        problem(answer, 404, "not-found")  # It is the job `x:cancel`, which does not exist.
    else:
        problem(answer, 405, "method-not-allowed")
        assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("rest", ["why", "result", "events"])
async def test_an_escaped_slash_leads_to_no_other_route(api: Caller, rest: str) -> None:
    job = await api.submit(delay="1h")
    assert (await api.http.get(f"/v1/jobs/{job['id']}%2F{rest}")).status_code == 404
    assert (await api.http.get(f"/v1/jobs/{job['id']}%2f{rest}")).status_code == 404


async def test_the_name_of_a_kind_may_hold_a_slash(api: Caller) -> None:
    for path in ("/v1/kinds/nobody%2Fhas-this", "/v1/kinds/nobody/has-this"):
        assert "'nobody/has-this'" in problem(await api.http.get(path), 404)["detail"]


COMMAND_WORDS = ["a:cancel", "a:run-now", "a:retry", "cancel", "a:cancel:cancel", ":", "::cancel", "result"]


@pytest.mark.parametrize("word", COMMAND_WORDS)
async def test_an_id_may_end_like_a_command(api: Caller, worker: Worker, queue: str, word: str) -> None:
    """A POST's last colon begins the command; every other method takes the whole segment as the id."""
    job_id, bystander = f"{queue}:{word}", f"{queue}:{word.rpartition(':')[0]}"
    await api.submit(id=bystander, delay="1h")
    accepted = await api.submit(id=job_id, delay="1h")
    assert accepted["links"]["self"] == f"/v1/jobs/{job_id}"
    assert (await api.http.get(accepted["links"]["self"])).json()["id"] == job_id
    assert (await api.http.get(f"/v1/jobs/{job_id}/result")).json()["id"] == job_id
    assert (await api.patch(job_id, delay="2h")).json()["id"] == job_id
    assert (await api.command(job_id, "cancel")).json()["state"] == "cancelled"
    assert (await api.get(bystander))["state"] == "scheduled", "another job was meant"
    encoded = job_id.replace(":", "%3A")
    assert (await api.http.get(f"/v1/jobs/{encoded}")).json()["state"] == "cancelled"


async def test_derived_ids_take_commands(api: Caller, job_id: str) -> None:
    accepted = (await api.post({"kind": "echo", "delay": "1h"}, idempotency_key=job_id)).json()
    assert "~" in accepted["id"]
    for path in (accepted["id"], accepted["id"].replace("~", "%7E")):
        assert (await api.get(path))["id"] == accepted["id"]
    assert (await api.command(accepted["id"], "cancel")).status_code == 202


async def test_an_unknown_command_is_no_method_of_that_job(api: Caller) -> None:
    accepted = await api.submit(delay="1h")
    problem(await api.command(accepted["id"], "explode"), 405, "method-not-allowed")
    assert (await api.get(accepted["id"]))["state"] == "scheduled"


@pytest.mark.parametrize(
    ("query", "pointer", "said"),
    [
        ("wiat=5s", "query wiat", "did you mean `wait`"),
        ("wait=5s&verbose=1", "query verbose", "known are wait"),
        ("wait=soon", "query wait", "duration"),
        ("wait=-1s", "query wait", "duration"),
        ("wait=", "query wait", "duration"),
        ("wait=NaN", "query wait", "duration"),
        ("wait=1e999", "query wait", "duration"),
        ("wait=P1Y", "query wait", "years"),
        ("wait=%00", "query wait", "duration"),
        ("wait=%FF", "query wait", "duration"),
    ],
)
async def test_bad_parameters(api: Caller, query: str, pointer: str, said: str) -> None:
    accepted = await api.submit(delay="1h")
    found = faults(await api.http.get(f"/v1/jobs/{accepted['id']}/result?{query}"))
    assert list(found) == [pointer] and said in found[pointer]


async def test_a_call_without_parameters_says_so(api: Caller) -> None:
    accepted = await api.submit(delay="1h")
    found = faults(await api.http.get(f"/v1/jobs/{accepted['id']}?pretty"))
    assert found == {"query pretty": "this call takes no parameters"}
    assert faults(await api.http.post("/v1/jobs?dry_run=1", json={"kind": "echo"}))


async def test_everything_served_is_found_at_the_door(app: FastAPI, api: Caller) -> None:
    assert (await api.http.get("/docs")).status_code == 200
    assert (await api.http.get("/openapi.json")).json()["info"]["title"] == "Duetime"


@pytest.mark.parametrize(
    "path", ["/healthz", "/v1/jobs", "/v1/jobs:count", "/v1/kinds", "/openapi.json", "/metrics"]
)
async def test_head_is_get_without_its_body(api: Caller, path: str) -> None:
    got, head = await api.http.get(path), await api.http.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"") == (200, b"")
    assert head.headers["content-type"] == got.headers["content-type"]
    if path == "/healthz":
        assert head.headers["content-length"] == got.headers["content-length"] != "0"


async def test_head_over_the_wire_leaves_the_connection_fit_for_more(address: str) -> None:
    async with httpx2.AsyncClient(base_url=address) as http:
        for _ in range(2):
            assert (await http.head("/healthz")).status_code == 200
            assert (await http.get("/healthz")).json() == {"status": "alive"}
        assert (await http.head("/v1/jobs/nobody")).status_code == 404
        refused = await http.head("/v1/jobs:batch")
        assert refused.status_code in (404, 405) and refused.content == b""


async def test_head_of_a_stream_ends(api: Caller, address: str) -> None:
    """The job is open, and its events would go on."""
    accepted = await api.submit(delay="1h")
    async with httpx2.AsyncClient(base_url=address, timeout=30) as http:
        answer = await http.head(f"/v1/jobs/{accepted['id']}/events")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_may_have_parameters(api: Caller, path: str) -> None:
    """Load balancers and browsers add some; nobody meant anything by them."""
    assert (await api.http.get(f"{path}?x=1&_=1700000000")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "says"),
    [
        (
            "DELETE",
            "/v1/jobs/some-id",
            "takes GET, HEAD, PATCH, and with POST `:cancel`, `:retry`, `:run-now` behind it",
        ),
        ("POST", "/v1/jobs/some-id:kancel", "and with POST `:cancel`, `:retry`, `:run-now` behind it"),
        ("PUT", "/v1/jobs", "takes GET, HEAD, POST, and with POST `:batch`, `:cancel`, `:retry` behind it"),
        ("DELETE", "/v1/queues/mail", "takes GET, HEAD, and with POST `:pause`, `:resume` behind it"),
        ("POST", "/v1/kinds", "POST does nothing here; this path takes GET, HEAD"),
    ],
)
async def test_a_method_that_means_nothing_is_told_the_commands(
    api: Caller, method: str, path: str, says: str
) -> None:
    answer = await api.http.request(method, path, json={})
    assert problem(answer, 405, "method-not-allowed")["detail"].endswith(says)
