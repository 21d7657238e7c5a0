"""Nobody reaches through the worker what the operator has not opened: no connection, by any trick."""

import asyncio
import gzip
import ssl
import tracemalloc
import zlib
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import httpx2
import pytest
import trustme
from pydantic import ValidationError

from activities.http.addresses import Address
from activities.http.kind import HttpKind
from activities.http.policy import AddressPolicy
from activities.http.request import HttpRequest
from activities.http.signing import Signer
from activities.http.transport import connect
from activities.http.verdict import HttpUnreachable
from activities.text import KEPT_BYTES
from duetime.outcomes import Reject
from tests.activities.receiver import Receiver, Seen, answer, head
from tests.activities.support import NO_TLS, FakeJob
from tests.activities.test_http_addresses import REFUSED
from tests.activities.test_http_target import NOT_TAKEN

PUBLIC = "93.184.216.34"


class Wire(httpx2.AsyncBaseTransport):
    """Stands where the connection would be made, and writes down to where."""

    def __init__(self, *answers: httpx2.Response) -> None:
        self.connections: list[tuple[str, str, Any]] = []
        self._answers = list(answers)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.connections.append(
            (request.url.host, request.headers["host"], request.extensions["sni_hostname"])
        )
        return self._answers.pop(0) if self._answers else httpx2.Response(200)


class Names:
    """A name server with one answer after the other; the last one stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def __call__(self, host: str, port: int) -> list[Address]:
        self.asked.append(host)
        addresses = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [ip_address(address) for address in addresses]


def kind_on(wire: Wire, names: Names, allow: str = "") -> HttpKind:
    return HttpKind(
        AddressPolicy.parse(allow), Signer(), tls=NO_TLS, resolve=names, connector=lambda tls: wire
    )


async def call(kind: HttpKind, url: str, **payload: Any) -> dict[str, Any]:
    return await kind.run(HttpRequest.model_validate({"url": url, **payload}), FakeJob())


@pytest.mark.parametrize("address", [address for address in REFUSED if "%" not in address])
async def test_no_special_address_is_connected_to_by_number_or_by_name(address: str) -> None:
    wire, names = Wire(), Names([address])
    number = f"[{address}]" if ":" in address else address
    for url in (
        f"http://{number}/",
        f"https://{number}:8443/",
        "http://inside.example/",
        "http://inside.example./",
    ):
        with pytest.raises(Reject, match="url: "):
            await call(kind_on(wire, names), url)
    assert wire.connections == []


@pytest.mark.parametrize("url", NOT_TAKEN)
async def test_no_odd_spelling_is_even_resolved(url: str) -> None:
    wire, names = Wire(), Names(["127.0.0.1"])
    with pytest.raises(ValidationError) as refused:
        await call(kind_on(wire, names), url)
    assert refused.value.errors()[0]["loc"] == ("url",)
    assert (wire.connections, names.asked) == ([], [])


async def test_a_name_with_one_private_record_is_private() -> None:
    wire = Wire()
    for records in ([PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], [PUBLIC] * 9 + ["fd00::1"]):
        with pytest.raises(Reject) as refused:
            await call(kind_on(wire, Names(records)), "http://mixed.example/")
        assert "127.0.0.1" not in str(refused.value)
    assert wire.connections == []


async def test_the_address_that_was_judged_is_the_one_connected_to() -> None:
    wire, names = Wire(), Names([PUBLIC], ["127.0.0.1"])
    await call(kind_on(wire, names), "https://flips.example:8443/")
    assert wire.connections == [(PUBLIC, "flips.example:8443", "flips.example")]
    assert names.asked == ["flips.example"]
    with pytest.raises(Reject):
        await call(kind_on(wire, names), "https://flips.example:8443/")
    assert len(wire.connections) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "//127.0.0.1/",
        "http://[::1]/",
        "http://2130706433/",
        "file:///etc/passwd",
        "https://inside.example/",
        "https://user@public.example/",
        "http://public.example/",
        "https://a b/",
        "http://[::1",
        "http://a:b/",
        "http://a\tb/",
        "\\\\127.0.0.1\\",
    ],
)
async def test_a_redirect_to_the_inside_goes_nowhere(status: int, location: str) -> None:
    for follow in (0, 3):
        wire = Wire(httpx2.Response(status, headers={"location": location}))
        names = Names([PUBLIC], ["10.0.0.1"])
        with pytest.raises(Reject):
            await call(kind_on(wire, names), "https://public.example/", follow_redirects=follow)
        assert [host for host, _, _ in wire.connections] == [PUBLIC]


async def test_what_began_under_tls_does_not_go_on_without() -> None:
    wire = Wire(httpx2.Response(308, headers={"location": "http://public.example/"}))
    with pytest.raises(Reject, match="from https to http"):
        await call(kind_on(wire, Names([PUBLIC])), "https://public.example/", follow_redirects=1)
    assert len(wire.connections) == 1


async def test_a_redirect_to_itself_is_resolved_and_judged_again() -> None:
    wire, names = Wire(httpx2.Response(302, headers={"location": "/next"})), Names([PUBLIC], ["127.0.0.1"])
    with pytest.raises(Reject, match="loopback"):
        await call(kind_on(wire, names), "http://flips.example/", follow_redirects=5)
    assert len(wire.connections) == 1


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Receiver(answer(200, b"proxy")) as proxy, Receiver(answer(200, b"receiver")) as receiver:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.lower(), f"http://127.0.0.1:{proxy.port}")
        kind = HttpKind(AddressPolicy.parse("127.0.0.1"), Signer(), tls=NO_TLS)
        assert (await call(kind, receiver.url()))["body"] == "receiver"
    assert (proxy.connections, receiver.connections) == (0, 1)


async def test_the_system_resolver_is_asked_and_judged() -> None:
    async with Receiver(answer()) as receiver:
        url = f"http://localhost:{receiver.port}/"
        with pytest.raises(Reject, match="localhost resolves to an address that is loopback"):
            await call(HttpKind(AddressPolicy(), Signer(), tls=NO_TLS), url)
        assert receiver.connections == 0
        await call(HttpKind(AddressPolicy.parse(f"localhost:{receiver.port}"), Signer(), tls=NO_TLS), url)
        assert receiver.seen[0].headers["host"] == f"localhost:{receiver.port}"


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with Receiver(answer()) as receiver:
        names = Names(["127.0.0.2", "127.0.0.1"])  # nobody listens on the first
        kind = HttpKind(AddressPolicy.parse("127.0.0.0/8"), Signer(), tls=NO_TLS, resolve=names)
        await call(kind, f"http://two.example:{receiver.port}/")
    assert receiver.connections == 1


async def test_tls_is_checked_against_the_name_and_not_the_address() -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.example").configure_cert(server)
    shown: list[str | None] = []
    server.sni_callback = lambda _, name, __: shown.append(name)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)

    async with Receiver(answer(), tls=server) as receiver:

        def kind(tls: ssl.SSLContext) -> HttpKind:
            policy = AddressPolicy.parse("127.0.0.1")
            return HttpKind(policy, Signer(), resolve=Names(["127.0.0.1"]), tls=tls, connector=connect)

        result = await call(kind(trusting), f"https://hooks.example:{receiver.port}/")
        assert result["status"] == 200
        assert shown == ["hooks.example"]
        assert receiver.seen[0].headers["host"] == f"hooks.example:{receiver.port}"
        for tls, name in ((trusting, "other.example"), (ssl.create_default_context(), "hooks.example")):
            with pytest.raises(HttpUnreachable, match=r"(?i)certificate"):
                await call(kind(tls), f"https://{name}:{receiver.port}/")
    assert len(receiver.seen) == 1


async def test_of_an_endless_answer_only_the_head_is_read() -> None:
    written = 0

    async def script(_: Seen, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(head(200, f"Content-Length: {100 * 2**20}"))
        while written < 100 * 2**20:
            writer.write(b"a" * 2**16)
            written += 2**16
            await writer.drain()

    async with Receiver(script) as receiver:
        result = await call(HttpKind(AddressPolicy.parse("127.0.0.1"), Signer(), tls=NO_TLS), receiver.url())
    assert (result["body"], result["truncated"]) == ("a" * KEPT_BYTES, True)
    assert written < 20 * 2**20  # what the buffers of both sockets hold


@pytest.mark.parametrize("coding", ["gzip", "deflate", "gzip, gzip"])
async def test_a_bomb_stays_small(coding: str) -> None:
    plain = bytes(100 * 2**20)
    bomb = zlib.compress(plain) if coding == "deflate" else gzip.compress(plain)
    bomb = gzip.compress(bomb) if coding == "gzip, gzip" else bomb
    del plain
    async with Receiver(answer(200, bomb, f"Content-Encoding: {coding}")) as receiver:
        kind = HttpKind(AddressPolicy.parse("127.0.0.1"), Signer(), tls=NO_TLS)
        tracemalloc.start()
        result = await call(kind, receiver.url())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert result["truncated"] is True
    assert set(result["body"]) == {"\0"}
    assert peak < 10 * 2**20
