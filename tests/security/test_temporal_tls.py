"""TLS, mTLS and API keys towards Temporal: the real server behind a TLS frontend of the tests."""

import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from api.app import create_app
from duetime.connection import connect
from duetime.engine import EmbeddedEngine
from duetime.settings import SettingsError, load_settings
from duetime.target import Target, Tls
from tests.engine.programs import ROOT, environment, finish, read_until, start_python
from tests.security.certificates import Certificate, authority, issued
from tests.security.conftest import calling
from tests.security.keyring import settings
from tests.security.tls_proxy import tls_before

#: Settings by the names that `Target` has for them.
Files = dict[str, Path]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def ca(place: Path) -> Certificate:
    return authority(place, "ours")


@pytest.fixture(scope="module")
def stranger(place: Path) -> Certificate:
    return authority(place, "strangers")


@pytest.fixture(scope="module")
def mine(place: Path, ca: Certificate) -> Certificate:
    return issued(place, "client", ca)


@pytest.fixture(scope="module")
async def address(engine: EmbeddedEngine, place: Path, ca: Certificate) -> AsyncIterator[str]:
    """A frontend with TLS."""
    async with tls_before(engine.address, issued(place, "server", ca, "localhost")) as address:
        yield address


@pytest.fixture(scope="module")
async def mutual(engine: EmbeddedEngine, place: Path, ca: Certificate) -> AsyncIterator[str]:
    """A frontend that asks for certificates too."""
    certificate = issued(place, "mutual", ca, "localhost")
    async with tls_before(engine.address, certificate, clients=ca.cert) as address:
        yield address


async def serves(client: Client) -> bool:
    return await client.service_client.check_health()


async def test_tls_with_an_authority_of_ones_own(address: str, ca: Certificate) -> None:
    assert await serves(await connect(Target(address, tls=Tls(ca=ca.cert))))


async def test_mutual_tls(mutual: str, ca: Certificate, mine: Certificate) -> None:
    tls = Tls(ca=ca.cert, cert=mine.cert, key=mine.key)
    assert await serves(await connect(Target(mutual, tls=tls)))


async def test_a_server_of_another_name(engine: EmbeddedEngine, place: Path, ca: Certificate) -> None:
    certificate = issued(place, "named", ca, "temporal.internal")
    async with tls_before(engine.address, certificate) as address:
        assert await serves(
            await connect(Target(address, tls=Tls(ca=ca.cert, server_name="temporal.internal")))
        )
        with pytest.raises(
            RuntimeError, match=r"is not trusted, Hostname mismatch.*_TLS_SERVER_NAME to the name in it"
        ):
            await connect(Target(address, tls=Tls(ca=ca.cert)))


async def test_the_api_key_goes_along_with_every_call(
    engine: EmbeddedEngine, place: Path, ca: Certificate
) -> None:
    heard = bytearray()
    certificate = issued(place, "listening", ca, "localhost")
    async with tls_before(engine.address, certificate, seen=heard) as address:
        key = "temporal-key"
        assert await serves(await connect(Target(address, tls=Tls(ca=ca.cert), api_key=key)))
    # HPACK (RFC 7541) may send strings Huffman-coded.
    assert f"Bearer {key}".encode() in heard or huffman(f"Bearer {key}") in heard


def huffman(text: str) -> bytes:
    """`text` as HPACK codes it; the codes of RFC 7541, appendix B, for the characters used here."""
    codes = {
        " ": "010100", "-": "010110", "B": "1011101", "a": "00011", "e": "00101", "k": "1110101", "l": "101000",
        "m": "101001", "o": "00111", "p": "101011", "r": "101100", "t": "01001", "y": "1111010",
    }  # fmt: skip
    bits = "".join(codes[character] for character in text)
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def test_an_api_key_is_not_sent_in_the_clear() -> None:
    with pytest.raises(ValueError, match="an API key needs TLS"):
        Target("localhost:7233", api_key="x")


# --- what goes wrong, in words ---


async def told(target: Target) -> str:
    with pytest.raises(RuntimeError) as refused:
        await connect(target)
    return str(refused.value)


async def test_a_wrong_authority(address: str, stranger: Certificate) -> None:
    said = await told(Target(address, tls=Tls(ca=stranger.cert)))
    assert said.startswith(f"the certificate of {address} is not trusted, ")
    assert said.endswith(f"is DUETIME_TEMPORAL_TLS_CA ({stranger.cert}) its authority?")


async def test_the_authorities_of_the_system_do_not_know_it(address: str) -> None:
    assert "set DUETIME_TEMPORAL_TLS_CA to the certificate of its authority" in await told(
        Target(address, tls=Tls())
    )


async def test_a_missing_certificate(mutual: str, ca: Certificate) -> None:
    said = await told(Target(mutual, tls=Tls(ca=ca.cert)))
    assert said.startswith(f"{mutual} refused us, ")
    assert said.endswith(
        "does it want a certificate (DUETIME_TEMPORAL_TLS_CERT and DUETIME_TEMPORAL_TLS_KEY)?"
    )


async def test_a_certificate_of_strangers(
    mutual: str, place: Path, ca: Certificate, stranger: Certificate
) -> None:
    other = issued(place, "other", stranger)
    said = await told(Target(mutual, tls=Tls(ca=ca.cert, cert=other.cert, key=other.key)))
    assert said.startswith(f"{mutual} refused us, ")
    assert said.endswith(f"does it trust the certificate in DUETIME_TEMPORAL_TLS_CERT ({other.cert})?")


async def test_tls_where_none_is_spoken(engine: EmbeddedEngine, ca: Certificate) -> None:
    said = await told(Target(engine.address, tls=Tls(ca=ca.cert)))
    assert said == f"{engine.address} does not speak TLS: is DUETIME_TEMPORAL_ADDRESS right?"


async def test_no_tls_where_it_is_spoken(address: str) -> None:
    assert await told(Target(address)) == f"{address} speaks TLS: set DUETIME_TEMPORAL_TLS=true"


async def test_files_that_are_no_certificates(
    address: str, place: Path, ca: Certificate, mine: Certificate
) -> None:
    text = place / "text.pem"
    text.write_text("hello")
    other = issued(place, "unrelated", ca)
    missing = place / "missing.pem"
    for tls, said in (
        (Tls(ca=text), f"DUETIME_TEMPORAL_TLS_CA: {text} holds no certificate in PEM form"),
        (Tls(ca=ca.cert, cert=text, key=mine.key), "are no certificate and its key in PEM form"),
        (Tls(ca=ca.cert, cert=mine.cert, key=other.key), "are no certificate and its key in PEM form"),
        (Tls(ca=ca.cert, cert=mine.cert, key=mine.encrypted_key()), "is encrypted; give the plain key"),
        (Tls(ca=missing), f"{missing} cannot be read: No such file or directory"),
    ):
        assert said in await told(Target(address, tls=tls))


async def test_nobody_there(ca: Certificate) -> None:
    assert await told(Target("127.0.0.1:1")) == "nothing listens at 127.0.0.1:1"
    assert await told(Target("127.0.0.1:1", tls=Tls(ca=ca.cert))) == "nothing listens at 127.0.0.1:1"
    assert await told(Target("nowhere.invalid:1")) == "the host name 'nowhere.invalid' is not known"


# --- from the settings to the calls ---


def variables(address: str, **fields: Any) -> dict[str, str]:
    given = {f"DUETIME_TEMPORAL_{name.upper()}": str(value) for name, value in fields.items()}
    return {"DUETIME_TEMPORAL_ADDRESS": address, **given}


async def test_the_api_and_a_worker_reach_it_by_their_settings(
    mutual: str, ca: Certificate, mine: Certificate, tmp_path: Path
) -> None:
    given = variables(mutual, tls_ca=ca.cert, tls_cert=mine.cert, tls_key=mine.key, api_key="sesame")
    given["DUETIME_QUEUES"] = f"q-{uuid.uuid4().hex[:12]}"
    process = await start_python(str(ROOT / "worker.py"), cwd=tmp_path, env=environment(**given))
    try:
        await read_until(process, "serving")
        process.terminate()
        assert (await finish(process))[0] == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

    fields = {name.removeprefix("DUETIME_").lower(): value for name, value in given.items()}
    async with calling(create_app(_settings(tmp_path, given))) as http:
        answer = await http.get("/readyz", headers={"Host": "localhost"})
        assert answer.json()["status"] == "ready", fields


def _settings(directory: Path, given: dict[str, str]) -> Any:
    file = directory / "settings.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    return load_settings(file)


async def test_the_api_says_in_its_log_what_is_wrong(
    mutual: str, ca: Certificate, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """It starts all the same: the server may be mended while it waits."""
    app = create_app(_settings(tmp_path, variables(mutual, tls_ca=ca.cert)))
    async with calling(app) as http:
        assert (await http.get("/readyz", headers={"Host": "localhost"})).status_code == 503
        await app.state.looking
    assert (
        "does it want a certificate (DUETIME_TEMPORAL_TLS_CERT and DUETIME_TEMPORAL_TLS_KEY)?" in caplog.text
    )


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"tls_ca": "/nowhere.pem"},
            "DUETIME_TEMPORAL_TLS_CA: '/nowhere.pem' is not allowed; it must be the path of a PEM file that is there",
        ),
        (
            {"tls_cert": "{file}"},
            "DUETIME_TEMPORAL_TLS_CERT: set DUETIME_TEMPORAL_TLS_KEY too: a certificate and its key go together",
        ),
        (
            {"tls_key": "{file}"},
            "DUETIME_TEMPORAL_TLS_KEY: set DUETIME_TEMPORAL_TLS_CERT too: a certificate and its key go together",
        ),
        (
            {"tls": "false", "api_key": "sesame"},
            "DUETIME_TEMPORAL_API_KEY: it needs TLS, which DUETIME_TEMPORAL_TLS switches off; leave one out",
        ),
        (
            {"api_key": "open sesame"},
            "DUETIME_TEMPORAL_API_KEY: this value is not allowed; it must be an API key of Temporal: "
            "printable ASCII without spaces",
        ),
    ],
)
def test_settings_that_do_not_go_together(given: dict[str, str], line: str, tmp_path: Path) -> None:
    file = tmp_path / "file.pem"
    file.touch()
    filled = {name: value.format(file=file) for name, value in given.items()}
    with pytest.raises(SettingsError, match=f"^{re.escape(line)}$"):
        _settings(tmp_path, variables("temporal.internal:7233", **filled))


@pytest.mark.parametrize("name", ["TLS", "TLS_SERVER_NAME", "API_KEY"])
def test_the_embedded_server_has_no_tls(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=f"DUETIME_TEMPORAL_{name}: name the server in DUETIME_TEMPORAL_ADDRESS"
    ):
        _settings(tmp_path, {f"DUETIME_TEMPORAL_{name}": "true"})


def test_tls_is_on_as_soon_as_it_is_meant(tmp_path: Path) -> None:
    for fields, tls in (
        ({}, None),
        ({"tls": "false"}, None),
        ({"tls": "true"}, Tls()),
        ({"api_key": "sesame"}, Tls()),
        ({"tls_server_name": "temporal.internal"}, Tls(server_name="temporal.internal")),
    ):
        loaded = _settings(tmp_path, variables("temporal.internal:7233", namespace="jobs", **fields))
        assert loaded.temporal.tls == tls
        assert (loaded.temporal.address, loaded.temporal.namespace) == ("temporal.internal:7233", "jobs")


def test_without_any_it_is_as_before() -> None:
    assert settings().temporal == Target("localhost:7233", "default")
