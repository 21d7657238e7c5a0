"""Where the API is and who calls: settings that cannot be are refused, and a key is never shown."""

import logging
import pickle
import ssl
import traceback

import httpx2
import pytest

from duetime import Client, SyncClient, errors
from duetime.client.address import find_address
from duetime.client.connections import Connections
from tests.client.flaky import Flaky, Reply
from tests.client.test_repeating import JOB

KEY = "dt_abcdefgh_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"


def test_the_address_comes_from_the_argument_the_environment_or_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert find_address().url == "http://127.0.0.1:8000"
    monkeypatch.setenv("DUETIME_URL", "https://duetime.example.org/jobs/")
    monkeypatch.setenv("DUETIME_API_KEY", KEY)
    found = find_address()
    assert found.url == "https://duetime.example.org/jobs"
    assert found.key is not None
    assert found.key.get_secret_value() == KEY
    assert find_address("http://[::1]:8000", "other").url == "http://[::1]:8000"
    assert find_address("http://localhost", "").key is None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("localhost:8000", "write url as"),
        ("ftp://example.org", "write url as"),
        ("http://", "write url as"),
        ("http://host:99999", "Port out of range"),
        ("http://me:secret@host", "give the key as api_key"),
        ("http://host/?a=b", "has a query"),
        ("http://ho st", "write url as"),
    ],
)
def test_an_address_that_cannot_be_is_refused_with_the_way_out(url: str, says: str) -> None:
    with pytest.raises(errors.BadSetting, match=says) as refused:
        Client(url)
    assert "secret" not in str(refused.value)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("key", [f"{KEY}\n", "two words", "kéy"])
def test_a_key_that_cannot_be_is_refused_without_being_shown(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.BadSetting, match="api_key") as refused:
        Client(api_key=key)
    assert key.strip() not in str(refused.value)
    monkeypatch.setenv("DUETIME_API_KEY", key)
    with pytest.raises(errors.BadSetting, match="DUETIME_API_KEY"):
        SyncClient()


async def test_the_key_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Flaky([Reply(503, {"status": 503}), Reply(404, {"status": 404})]).running() as flaky:
        client = Client(flaky.url, api_key=KEY)
        with pytest.raises(errors.NotFound) as refused:
            await client.get("job-1")
        assert {seen.headers["authorization"] for seen in flaky.seen} == {f"Bearer {KEY}"}
    shown = [repr(client), str(vars(client)), repr(vars(client._connections)), caplog.text]
    shown += [
        "".join(traceback.TracebackException.from_exception(refused.value, capture_locals=True).format())
    ]
    shown += [repr(client._connections.pool().headers)]
    assert not [text for text in shown if KEY in text]
    await client.close()


def test_a_key_in_clear_text_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    for url in ("https://duetime.example.org", "http://127.0.0.1:8000", "http://api.localhost"):
        find_address(url, KEY)
    assert caplog.messages == []
    find_address("http://duetime.example.org", KEY)
    assert caplog.messages == ["the API key goes to http://duetime.example.org in clear text: use https"]


@pytest.mark.parametrize(
    ("url", "given", "expected"),
    [
        ("http://127.0.0.1:8000", None, False),
        ("http://localhost:8000", None, False),
        ("http://duetime.example.org", None, True),
        ("http://duetime.example.org", False, False),
        ("http://127.0.0.1:8000", True, True),
    ],
)
async def test_no_proxy_stands_between_us_and_our_own_machine(
    url: str, given: bool | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    connections = Connections(find_address(url), None, None, given)
    pool = connections.pool()
    assert pool.trust_env is expected
    assert bool(pool._mounts) is expected
    await connections.close()


async def test_a_tls_context_of_ours_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    given: list[object] = []
    monkeypatch.setattr(httpx2, "AsyncClient", lambda **options: given.append(options["verify"]))
    for url, tls in (("https://a.example", ours), ("https://a.example", None), ("http://127.0.0.1", None)):
        Connections(find_address(url), tls, None, None)._make()
    assert given[:2] == [ours, True]
    assert isinstance(given[2], ssl.SSLContext)
    assert given[2].get_ca_certs() == []


async def test_an_id_stays_one_step_of_the_path() -> None:
    async with Flaky([Reply(200, JOB)]).running() as flaky, Client(flaky.url) as client:
        for job_id in ("a:b~-1", "a/b", "..", "a?b#c", "é", "\udcff"):
            await client.get(job_id)
    assert [seen.path for seen in flaky.seen] == [
        "/v1/jobs/a:b~-1",
        "/v1/jobs/a%2Fb",
        "/v1/jobs/%2E%2E",
        "/v1/jobs/a%3Fb%23c",
        "/v1/jobs/%C3%A9",
        "/v1/jobs/%ED%B3%BF",
    ]


def test_exceptions_survive_a_trip_to_another_process() -> None:
    refused = errors.problem_error(409, "id-in-use", "The id is in use", "it is", job=JOB)
    again = pickle.loads(pickle.dumps(refused))
    assert (type(again), str(again)) == (errors.IdInUse, "it is (409)")
    assert again.job.id == "job-1"
