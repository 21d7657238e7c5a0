"""The kind `http` against a real receiver: what it sends, and how the job ends by what comes back."""

import asyncio
import json
import socket
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from standardwebhooks.webhooks import Webhook

from activities.http.kind import HttpKind
from activities.http.policy import AddressPolicy
from activities.http.request import HttpRequest
from activities.http.signing import Signer
from activities.http.verdict import HttpFailed, HttpTimeout, HttpUnreachable
from duetime.outcomes import Reject, RetryAfter
from tests.activities.receiver import Receiver, Script, Seen, answer, answers, head
from tests.activities.support import NO_TLS, FakeJob, eventually

SECRETS = ["whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "c2VjcmV0LW9mLXRoZS1uZXh0LWtleS0xMjM="]


@pytest.fixture
def kind() -> HttpKind:
    return HttpKind(AddressPolicy.parse("127.0.0.1"), Signer(), tls=NO_TLS)


async def call(kind: HttpKind, job: FakeJob, **payload: Any) -> dict[str, Any]:
    return await kind.run(HttpRequest.model_validate(payload), job)


async def test_the_receiver_learns_which_job_calls(kind: HttpKind, job: FakeJob) -> None:
    async with Receiver(answer(200, b"thanks", "Content-Type: text/plain", "Set-Cookie: a=b")) as receiver:
        result = await call(
            kind, job, url=receiver.url("/hook?a=b"), method="PUT", headers={"X-Own": "1"}, body={"to": "é"}
        )
    seen = receiver.seen[0]
    assert (seen.method, seen.path) == ("PUT", "/hook?a=b")
    assert json.loads(seen.body) == {"to": "é"}
    assert seen.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "connection": "close",
        "content-length": str(len(seen.body)),
        "content-type": "application/json",
        "duetime-attempt": "2",
        "duetime-fencing-token": "1796000000123456",
        "duetime-job-id": "job-1",
        "idempotency-key": "key-1",
        "user-agent": "Duetime",
        "x-own": "1",
    }
    assert result == {
        "status": 200,
        "headers": {"content-length": "6", "content-type": "text/plain"},
        "body": "thanks",
        "truncated": False,
    }


async def test_the_run_of_a_schedule_says_for_which_time_it_is(kind: HttpKind) -> None:
    paris = datetime(2027, 1, 15, 8, tzinfo=ZoneInfo("Europe/Paris"))
    async with Receiver(answer()) as receiver:
        await call(kind, FakeJob(nominal_time=paris), url=receiver.url())
    assert receiver.seen[0].headers["duetime-nominal-time"] == "2027-01-15T07:00:00Z"


async def test_the_message_is_signed_as_standard_webhooks_wants_it(job: FakeJob) -> None:
    tokyo = datetime.now(UTC).astimezone(ZoneInfo("Asia/Tokyo"))
    kind = HttpKind(AddressPolicy.parse("127.0.0.1"), Signer(SECRETS), tls=NO_TLS, now=lambda: tokyo)
    async with Receiver(answer()) as receiver:
        await call(kind, job, url=receiver.url(), body={"to": "é"})
        await call(kind, job, url=receiver.url())
    for seen in receiver.seen:
        assert seen.headers["webhook-id"] == "key-1"
        for secret in SECRETS:
            Webhook(secret).verify(seen.body, seen.headers, json_parse=False)
        assert not any(secret[6:] in str(seen) for secret in SECRETS)


@pytest.mark.parametrize("secret", ["", "whsec_", "short", "whsec_***", "c2hvcnQ=", "A" * 100])
def test_a_bad_secret_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(ValueError, match="webhook secret 2: must be") as refused:
        Signer([SECRETS[0], secret])
    assert secret in ("", "whsec_") or secret not in str(refused.value)


async def test_strange_keys_cannot_break_the_head(kind: HttpKind) -> None:
    job = FakeJob(idempotency_key="a\r\nX: y é%")
    async with Receiver(answer()) as receiver:
        await call(kind, job, url=receiver.url())
    assert receiver.seen[0].headers["idempotency-key"] == "a%0D%0AX:%20y%20%C3%A9%"


@pytest.mark.parametrize(
    ("status", "success", "outcome"),
    [
        (200, "2xx", None),
        (204, "2xx", None),
        (201, [200], HttpFailed),
        (201, [200, 201], None),
        (404, [404], None),
        (302, [302], None),
        (301, "2xx", Reject),
        (302, "2xx", Reject),
        (304, "2xx", Reject),
        (307, "2xx", Reject),
        (400, "2xx", Reject),
        (401, "2xx", Reject),
        (404, "2xx", Reject),
        (410, "2xx", Reject),
        (408, "2xx", HttpFailed),
        (425, "2xx", HttpFailed),
        (429, "2xx", HttpFailed),
        (500, "2xx", HttpFailed),
        (501, "2xx", HttpFailed),
        (503, "2xx", HttpFailed),
        (599, "2xx", HttpFailed),
    ],
)
async def test_the_status_decides(
    kind: HttpKind, job: FakeJob, status: int, success: object, outcome: type[Exception] | None
) -> None:
    async with Receiver(
        answer(status, b"" if status in (204, 304) else b"why", "Location: /other")
    ) as receiver:
        request = call(kind, job, url=receiver.url("/hook?token=secret"), success=success)
        if outcome is None:
            assert (await request)["status"] == status
        else:
            with pytest.raises(outcome, match=str(status)) as ended:
                await request
            assert "secret" not in str(ended.value)
    assert len(receiver.seen) == 1


@pytest.mark.parametrize(
    ("status", "value", "delay"),
    [
        (429, "120", timedelta(seconds=120)),
        (503, "120", timedelta(seconds=120)),
        (408, "1", timedelta(seconds=1)),
        (503, "Wed, 21 Oct 2026 07:28:00 GMT", timedelta(seconds=60)),
        (429, "999999999", timedelta(days=1)),
        (429, "0", None),
        (429, "-5", None),
        (429, "1.5", None),
        (429, "1\r\nRetry-After: 2", None),
        (404, "120", Reject),
        (301, "120", Reject),
        (200, "120", dict),
    ],
)
async def test_retry_after_is_honoured_where_another_try_is_due(
    job: FakeJob, status: int, value: str, delay: object
) -> None:
    now = datetime(2026, 10, 21, 7, 27, tzinfo=UTC)
    kind = HttpKind(AddressPolicy.parse("127.0.0.1"), Signer(), tls=NO_TLS, now=lambda: now)
    async with Receiver(answer(status, b"", f"Retry-After: {value}")) as receiver:
        try:
            outcome: object = await call(kind, job, url=receiver.url())
        except Exception as error:
            outcome = error
    if isinstance(delay, timedelta):
        assert isinstance(outcome, RetryAfter)
        assert outcome.delay == delay
    else:
        assert type(outcome) is (delay or HttpFailed)


async def test_json_answers_can_be_referred_to(kind: HttpKind, job: FakeJob) -> None:
    async def ask(body: bytes, content_type: str = "application/json; charset=utf-8") -> dict[str, Any]:
        async with Receiver(answer(200, body, f"Content-Type: {content_type}")) as receiver:
            return await call(kind, job, url=receiver.url(), method="GET")

    assert (await ask(b'{"rows": [1, 2]}'))["json"] == {"rows": [1, 2]}
    assert (await ask(b"null", "application/problem+json"))["json"] is None
    for body in (
        b"{",
        b"NaN",
        b"[1e999]",
        b"[" * 50_000,
        b"[" * 200 + b"]" * 200,
        b'"\\ud800"',
        b"9" * 5000,
        b"",
    ):
        result = await ask(body)
        assert "json" not in result
        assert result["body"] == body.decode()
    assert "json" not in await ask(b"{}", "text/plain")


async def test_bytes_that_are_no_text_do_not_fail_the_job(kind: HttpKind, job: FakeJob) -> None:
    async with Receiver(answer(200, b"caf\xe9\x00", "X-Bytes: \xe9")) as receiver:
        result = await call(kind, job, url=receiver.url())
    assert result["body"] == "caf\ufffd\x00"
    assert result["headers"]["x-bytes"] == "é"


async def test_many_and_long_headers_are_cut(kind: HttpKind, job: FakeJob) -> None:
    headers = ["Via: a", "Via: b", f"X-0: {'w' * 2000}", *(f"X-{n}: {'v' * 500}" for n in range(1, 80))]
    async with Receiver(answer(200, b"", *headers)) as receiver:
        result = await call(kind, job, url=receiver.url())
    assert len(json.dumps(result["headers"])) < 20 * 1024
    assert result["headers"]["via"] == "a, b"
    assert result["headers"]["x-0"] == "w" * 1023 + "…"
    assert result["headers"]["x-1"] == "v" * 500


async def test_a_name_without_address_and_a_closed_port_can_be_tried_again(job: FakeJob) -> None:
    async def nowhere(host: str, port: int) -> list[Any]:
        raise socket.gaierror(-2, "Name or service not known")

    kind = HttpKind(AddressPolicy.parse("127.0.0.1"), Signer(), tls=NO_TLS, resolve=nowhere)
    with pytest.raises(HttpUnreachable, match="not known"):
        await call(kind, job, url="http://nowhere.example/")
    async with Receiver(answer()) as receiver:
        closed = receiver.url()
    with pytest.raises(HttpUnreachable):
        await call(kind, job, url=closed)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"HTTP/1.1 2",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        head(200, "Content-Length: 10") + b"half",
        head(200, "Transfer-Encoding: chunked") + b"5\r\nab",
        head(200, "Content-Length: 1", "Content-Length: 2"),
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 300000,
    ],
)
async def test_a_broken_answer_is_a_failed_attempt(kind: HttpKind, job: FakeJob, broken: bytes) -> None:
    async def script(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(broken)
        await writer.drain()

    async with Receiver(script) as receiver:
        with pytest.raises(HttpUnreachable):
            await call(kind, job, url=receiver.url())


async def test_undecodable_content_does_not_undo_what_the_receiver_did(kind: HttpKind, job: FakeJob) -> None:
    async with Receiver(answer(200, b"not gzip at all", "Content-Encoding: gzip")) as receiver:
        result = await call(kind, job, url=receiver.url())
    assert (result["status"], result["body"], result["body_error"]) == (200, "", "not valid gzip")


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 200", head(200, "Content-Length: 100") + b"dr"])
async def test_silence_and_dripping_end_at_the_timeout(kind: HttpKind, job: FakeJob, before: bytes) -> None:
    gone = asyncio.Event()

    async def script(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(before)
        try:
            while True:  # one byte after the other, for ever
                await asyncio.sleep(0.05)
                writer.write(b"i" if before else b"")
                await writer.drain()
        finally:
            gone.set()

    async with Receiver(script) as receiver:
        with pytest.raises(HttpTimeout, match=r"within 0\.3s"):
            await call(kind, job, url=receiver.url(), timeout="300ms")
        if before:
            await gone.wait()


async def test_cancelling_closes_the_connection(kind: HttpKind, job: FakeJob) -> None:
    gone = asyncio.Event()

    async def script(_: Seen, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            gone.set()

    async with Receiver(script) as receiver:
        task = asyncio.create_task(call(kind, job, url=receiver.url()))
        await eventually(lambda: receiver.seen)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone.wait()


async def test_redirects_are_followed_when_asked_and_counted(kind: HttpKind, job: FakeJob) -> None:
    hops = [
        answer(302, b"", "Location: /two"),
        answer(307, b"", "Location: three?x=1#f"),
        answer(200, b"end"),
    ]
    async with Receiver(answers(*hops)) as receiver:
        result = await call(kind, job, url=receiver.url("/a/one"), body="hello", follow_redirects=2)
    assert result["body"] == "end"
    assert [(seen.method, seen.path, seen.body) for seen in receiver.seen] == [
        ("POST", "/a/one", b"hello"),
        ("GET", "/two", b""),
        ("GET", "/three?x=1", b""),
    ]
    assert "content-type" not in receiver.seen[1].headers
    async with Receiver(answer(308, b"", "Location: /again")) as receiver:
        with pytest.raises(Reject, match="redirect 308 not followed after 3 redirects"):
            await call(kind, job, url=receiver.url(), body="hello", follow_redirects=3)
    assert [seen.body for seen in receiver.seen] == [b"hello"] * 4


async def test_a_redirect_that_is_a_success_is_not_followed(kind: HttpKind, job: FakeJob) -> None:
    async with Receiver(answer(303, b"", "Location: /made")) as receiver:
        result = await call(kind, job, url=receiver.url(), success=[303], follow_redirects=1)
    assert (result["status"], result["headers"]["location"]) == (303, "/made")
    assert len(receiver.seen) == 1


def to(other: Receiver) -> Script:
    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await answer(307, b"", f"Location: {other.url('/there')}")(seen, writer)

    return script


async def test_another_origin_does_not_see_the_payloads_credentials(kind: HttpKind, job: FakeJob) -> None:
    own = {"Authorization": "Bearer x", "X-Api-Key": "y", "Accept": "application/json"}
    async with Receiver(answer()) as other, Receiver(to(other)) as receiver:
        await call(kind, job, url=receiver.url(), headers=own, body={"a": 1}, follow_redirects=1)
    there = other.seen[0]
    assert receiver.seen[0].headers["x-api-key"] == "y"
    assert not {"authorization", "x-api-key"} & there.headers.keys()
    assert there.headers["accept"] == there.headers["content-type"] == "application/json"
    assert there.headers["idempotency-key"] == "key-1"
    assert there.body == b'{"a":1}'
