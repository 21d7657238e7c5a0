"""Without keys: this machine alone, under its own names, and not for the web pages of others."""

import logging
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from api.security.door import HEADER_BYTES, HEADERS, TARGET_BYTES
from api.security.lock import Keys, Open, is_loopback, lock_of
from duetime.settings import SettingsError
from tests.engine.programs import environment, finish, start_python
from tests.security.conftest import calling
from tests.security.keyring import Keyring, settings


@pytest.fixture(scope="module")
async def http(client: Client) -> Any:
    """The API without keys, called from this machine."""
    async with calling(
        create_app(settings(api_names=("jobs.internal",)), client), "http://localhost:8000"
    ) as http:
        yield http


# --- what starts ---


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    lock = lock_of(settings(api_host=host))
    assert isinstance(lock, Open) and not lock.is_for_strangers


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "api.internal", "localhost.evil.example"])
def test_another_address_does(host: str, tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"DUETIME_API_HOST: .*set DUETIME_API_KEYS_FILE, or DUETIME_API_OPEN"
    ):
        create_app(settings(api_host=host))
    keyring = Keyring(tmp_path / "keys.json")
    assert isinstance(lock_of(settings(api_host=host, api_keys_file=keyring.path)), Keys)


def test_who_says_so_may_stand_open() -> None:
    lock = lock_of(settings(api_host="0.0.0.0", api_open=True))
    assert isinstance(lock, Open) and lock.is_for_strangers


def test_keys_win_over_open(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "keys.json")
    assert isinstance(lock_of(settings(api_keys_file=keyring.path, api_open=True)), Keys)


def test_a_missing_keys_file_is_told_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(
        SettingsError, match=rf"DUETIME_API_KEYS_FILE: the keys file {path} cannot .*api\.keys create"
    ):
        lock_of(settings(api_keys_file=path))


@pytest.mark.parametrize("arguments", [("-m", "api"), ("-m", "uvicorn", "api.app:app")])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"DUETIME_API_HOST": "0.0.0.0"}, "DUETIME_API_HOST: '0.0.0.0' can be reached from other machines"),
        (
            {"DUETIME_API_KEYS_FILE": "none.json"},
            "DUETIME_API_KEYS_FILE: the keys file none.json cannot be read",
        ),
    ],
)
async def test_it_refuses_to_start_in_one_line(
    arguments: tuple[str, ...], given: dict[str, str], told: str, tmp_path: Path
) -> None:
    process = await start_python(*arguments, cwd=tmp_path, env=environment(**given))
    code, seen = await finish(process)
    assert code == 2
    (line,) = seen.splitlines()
    assert line.startswith(told)


@pytest.mark.parametrize(
    ("fields", "level", "told", "access"),
    [
        ({}, "INFO", "no keys: everybody on this machine may do everything", "open"),
        ({"api_open": True}, "WARNING", "no keys: whoever reaches the port may do everything", "open"),
        ({"api_keys_file": "keys.json"}, "INFO", "callers need a key: 1 of 2 in .* are active", "keys"),
    ],
)
async def test_how_it_is_locked_is_told(
    fields: dict[str, Any],
    level: str,
    told: str,
    access: str,
    client: Client,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if "api_keys_file" in fields:
        keyring = Keyring(tmp_path / "keys.json")
        keyring.add("read")
        keyring.add("read", revoked_at="2027-01-01T00:00:00Z")
        fields = {"api_keys_file": keyring.path}
    with caplog.at_level(logging.INFO):
        async with calling(create_app(settings(**fields), client), "http://127.0.0.1") as http:
            assert (await http.get("/readyz")).json() == {"status": "ready", "access": access}
    (record,) = [record for record in caplog.records if record.name == "duetime.api"]
    assert record.levelname == level
    assert re.match(told, record.getMessage())


# --- who is answered ---


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8000", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("192.168.1.5:8000", 200),  # an address is no name that could be pointed elsewhere
        ("jobs.internal", 200),
        ("jobs.internal:8000", 200),
        ("evil.example", 421),
        ("evil.example:8000", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("jobs.internal.evil.example", 421),
        ("internal", 421),
        ("", 421),
        ("[::1", 421),
        ("127.1", 421),
    ],
)
async def test_only_names_of_ours_are_answered(http: httpx2.AsyncClient, host: str, status: int) -> None:
    for path in ("/healthz", "/v1/kinds", "/docs", "/nothing"):
        answer = await http.get(path, headers={"Host": host})
        assert (answer.status_code == 421) is (status == 421), path
    if status == 421:
        assert answer.json()["type"] == "urn:duetime:problem:wrong-host"


async def test_a_body_that_a_form_can_send_is_refused(http: httpx2.AsyncClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = await http.post("/v1/jobs", content=b'{"kind": "x"}', headers={"Content-Type": kind})
        assert answer.status_code == 415


@pytest.mark.parametrize(
    ("server", "status"),
    [(("127.0.0.1", 8000), 200), (("::1", 8000), 200), (("::ffff:127.0.0.1", 8000), 200), (None, 200)]
    + [((address, 8000), 403) for address in ("10.0.0.7", "0.0.0.0", "fe80::1", "::ffff:10.0.0.7")],
)
async def test_a_call_that_came_from_elsewhere_is_refused(client: Client, server: Any, status: int) -> None:
    """`uvicorn api.app:app --host 0.0.0.0` tells nobody where it listens; each call does."""
    for fields, wanted in (({}, status), ({"api_open": True}, 200)):
        app = create_app(settings(**fields), client)

        async def arrived(connection, receive, send, app=app) -> None:  # type: ignore[no-untyped-def]
            await app({**connection, "server": server}, receive, send)

        transport = httpx2.ASGITransport(app=arrived)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
            assert (await http.get("/healthz")).status_code == wanted


async def test_with_keys_names_do_not_matter(client: Client, tmp_path: Path) -> None:
    """No page of a stranger holds a key."""
    keyring = Keyring(tmp_path / "keys.json")
    async with calling(
        create_app(settings(api_keys_file=keyring.path), client), "http://any.example"
    ) as http:
        answer = await http.get("/healthz", headers={"Origin": "http://evil.example"})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers, "nor may a page read the answers"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.255.0.1", True), ("::1", True), ("[::1]", True), ("LocalHost", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "128.0.0.1", "localhost.", "", "::ffff:10.0.0.1")],
)
def test_what_loopback_is(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


# --- what nobody may send, and what everybody is sent ---


async def test_absurd_sizes_are_refused(http: httpx2.AsyncClient) -> None:
    long = await http.get(f"/healthz?{'a' * TARGET_BYTES}")
    assert (long.status_code, long.json()["type"]) == (414, "urn:duetime:problem:uri-too-long")
    many = await http.get("/healthz", headers=[(f"x-{n}", "1") for n in range(HEADERS)])
    large = await http.get("/healthz", headers={"x": "1" * HEADER_BYTES})
    for answer in (many, large):
        assert (answer.status_code, answer.json()["type"]) == (431, "urn:duetime:problem:headers-too-large")
    assert (await http.get(f"/docs?{'a' * 1000}", headers={"x": "1" * 1000})).status_code == 200


async def test_every_answer_says_how_browsers_must_treat_it(http: httpx2.AsyncClient) -> None:
    for path in ("/healthz", "/docs", "/nothing"):
        headers = (await http.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "frame-ancestors 'none'"
        assert headers["cache-control"] == "no-store"
