"""Secrets stay where they belong: sentinel values that must not turn up in logs, answers or output."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from api.app import create_app
from api.security.keys import hash_of
from duetime.settings import SettingsError, load_settings
from duetime.target import Target, Tls
from tests.engine.programs import environment, finish, start_python
from tests.security.conftest import calling
from tests.security.keyring import Keyring, bearer, settings

PAYLOAD = "sentinel-payload-4f1c"
TEMPORAL_KEY = "sentinel-temporal-key-9b2e"
PASSWORD = "sentinel-password-77d0"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Everything that is logged, by whomever, tracebacks included."""
    with caplog.at_level(logging.DEBUG):
        yield caplog


class Calls:
    """Makes calls and keeps what was answered."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self.answered = ""

    async def __call__(self, method: str, path: str, **options: Any) -> int:
        answer = await self._http.request(method, path, **options)
        self.answered += f"{answer.status_code} {dict(answer.headers)} {answer.text}\n"
        return answer.status_code


async def test_keys_and_payloads_are_in_no_log_and_no_problem(
    client: Client, tmp_path: Path, queue: str, job_id: str, said: pytest.LogCaptureFixture
) -> None:
    keyring = Keyring(tmp_path / "keys.json")
    good, narrow = keyring.add("admin"), keyring.add("read", queues=("other",), rate=1)
    revoked = keyring.add("admin", revoked_at="2027-01-01T00:00:00Z")
    wrong = f"dt_{good.split('_')[1]}_{'Sentinel' * 5}abc"
    presented = [good, narrow, revoked, wrong]
    job = {"kind": "some", "queue": queue, "id": job_id, "delay": "1d", "payload": {"password": PAYLOAD}}

    async with calling(create_app(settings(api_keys_file=keyring.path), client)) as http:
        call = Calls(http)
        for secret in (wrong, revoked, f"{good}x", f"{good} {good}"):
            assert await call("GET", "/v1/kinds", headers=bearer(secret)) == 401
        assert await call("GET", "/v1/kinds", headers={"Authorization": f"Basic {good}"}) == 401
        assert await call("POST", "/v1/jobs", headers=bearer(narrow), json=job) == 403
        assert await call("GET", f"/v1/jobs/{job_id}", headers=bearer(narrow)) == 404
        for _ in range(20):
            last = await call("GET", "/v1/kinds", headers=bearer(narrow))
        assert last == 429
        # Bad bodies, whose parts are easily quoted.
        for body in ({**job, "payload": PAYLOAD}, {**job, PAYLOAD: 1}, {**job, "run_at": PAYLOAD}):
            assert await call("POST", "/v1/jobs", headers=bearer(good), json=body) == 422
        assert await call("POST", "/v1/jobs", headers=bearer(good), content=PAYLOAD) == 415
        answered = call.answered

        assert await call("POST", "/v1/jobs", headers=bearer(good), json=job) == 201
        assert await call("POST", f"/v1/jobs/{job_id}:cancel", headers=bearer(good)) == 202
        http_state = repr(http)

    for secret in presented:
        for shown in (secret, secret.rpartition("_")[2], hash_of(secret)):
            assert shown not in said.text
            assert shown not in call.answered
            assert shown not in http_state
    assert PAYLOAD not in said.text
    assert f'"password":"{PAYLOAD}"' in call.answered, "who may read the job sees it"
    assert "nobody has this key" in said.text and "202 /v1" not in answered


async def test_a_fault_of_ours_shows_nothing_of_the_call(
    client: Client, tmp_path: Path, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = Keyring(tmp_path / "keys.json")
    good = keyring.add("admin")
    app = create_app(settings(api_keys_file=keyring.path), client)
    async with calling(app) as http:
        job = {"kind": "some", "payload": {"password": PAYLOAD}}
        with monkeypatch.context() as broken:
            broken.setattr(app.state, "jobs", None)
            answer = await http.post("/v1/jobs", json=job, headers=bearer(good))
    assert answer.status_code == 500
    assert answer.json()["detail"] == "this is a fault of ours; it was logged"
    assert "AssertionError" in said.text
    assert good not in said.text and PAYLOAD not in said.text


def test_settings_show_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUETIME_TEMPORAL_ADDRESS", "temporal.internal:7233")
    monkeypatch.setenv("DUETIME_TEMPORAL_API_KEY", TEMPORAL_KEY)
    monkeypatch.setenv("DUETIME_LEDGER_URL", f"postgresql://app:{PASSWORD}@db/ledger")
    loaded = load_settings(None)
    assert loaded.temporal.api_key == TEMPORAL_KEY
    for shown in (
        repr(loaded),
        str(loaded),
        loaded.model_dump_json(),
        repr(loaded.temporal),
        str(loaded.temporal),
    ):
        assert TEMPORAL_KEY not in shown
        assert PASSWORD not in shown

    monkeypatch.setenv("DUETIME_TEMPORAL_API_KEY", f"{TEMPORAL_KEY} broken")
    with pytest.raises(SettingsError) as refused:
        load_settings(None)
    assert TEMPORAL_KEY not in str(refused.value)


async def test_the_programs_print_no_secret(tmp_path: Path) -> None:
    """At the most talkative level, with a keys file that breaks and a server that is not there."""
    keyring = Keyring(tmp_path / "keys.json")
    secret = keyring.add("admin")
    broken = tmp_path / "broken.json"
    text = keyring.path.read_text().replace('"name"', f'"{PASSWORD}"')
    broken.write_text(text)
    env = environment(
        DUETIME_LOG_LEVEL="debug",
        DUETIME_API_KEYS_FILE=str(broken),
        DUETIME_TEMPORAL_ADDRESS="127.0.0.1:1",
        DUETIME_TEMPORAL_API_KEY=TEMPORAL_KEY,
        DUETIME_LEDGER_URL=f"postgresql://app:{PASSWORD}@db/ledger",
    )
    outputs = []
    for arguments in (("-m", "api"), ("-m", "api.keys", "list"), ("-m", "api.keys", "revoke", "nobody00")):
        process = await start_python(*arguments, cwd=tmp_path, env=env)
        code, seen = await finish(process)
        assert code != 0
        assert "is broken: /keys/0/" in seen
        outputs.append(seen)
    for hidden in (TEMPORAL_KEY, f"app:{PASSWORD}", secret, hash_of(secret)):
        assert [seen for seen in outputs if hidden in seen] == []


def test_a_target_shows_no_key() -> None:
    assert TEMPORAL_KEY not in repr(Target("temporal.internal:7233", tls=Tls(), api_key=TEMPORAL_KEY))
