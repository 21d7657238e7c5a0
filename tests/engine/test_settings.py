import re
from pathlib import Path

import pytest

from duetime.settings import (
    Settings,
    SettingsError,
    known_variables,
    load_settings,
    unknown_variables,
    variable,
)
from tests.engine.programs import ROOT, environment, finish, start_python


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)


def test_everything_has_a_default() -> None:
    settings = load_settings()
    assert settings.temporal_address is None
    assert settings.temporal_target == "localhost:7233"
    assert settings.queues == ("default",)
    assert settings.ledger_address == "sqlite:///.duetime/ledger.db"
    with pytest.raises(ValueError, match="frozen"):
        settings.api_port = 1  # type: ignore[misc]


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DUETIME_API_PORT=9001\nDUETIME_QUEUES=from-file\nOTHER=1\n")
    monkeypatch.setenv("DUETIME_QUEUES", "mail, reports,,mail")
    monkeypatch.setenv("DUETIME_UI_PORT", "")  # As a compose file passes on what is not set.
    settings = load_settings()
    assert settings.api_port == 9001
    assert settings.queues == ("mail", "reports")
    assert settings.ui_port == 8233


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("TEMPORAL_ADDRESS", "http://temporal:7233"),
        ("TEMPORAL_ADDRESS", "temporal"),
        ("TEMPORAL_ADDRESS", "temporal:70000"),
        ("TEMPORAL_NAMESPACE", "a b"),
        ("TEMPORAL_PORT", "0"),
        ("UI_PORT", "65536"),
        ("API_HOST", "http://0.0.0.0"),
        ("API_PORT", "eighty"),
        ("LEDGER_URL", "ledger.db"),
        ("QUEUES", "mail,duetime-x"),
        ("QUEUES", ","),
        ("QUEUES", "mail,.."),
        ("HANDLERS", "my-app"),
        ("ALLOW_COMMANDS", "perhaps"),
        ("HTTP_ALLOW", "http://10.0.0.1"),
        ("LOG_LEVEL", "loud"),
    ],
)
def test_a_wrong_value_names_its_variable_and_what_is_allowed(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"DUETIME_{name}", wrong)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    (line,) = str(refused.value).splitlines()
    allowed = Settings.model_fields[name.lower()].description
    assert allowed
    assert line.startswith(f"DUETIME_{name}: ") and line.endswith(f"it must be {allowed}")


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("TEMPORAL_ADDRESS", "[::1]:7233"),
        ("HTTP_ALLOW", "10.0.0.0/8,hooks.internal,*.example.org,::1"),
        ("HANDLERS", "a.b, c_d"),
        ("LOG_LEVEL", "DEBUG"),
    ],
)
def test_what_looks_unusual_is_right(name: str, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"DUETIME_{name}", right)
    load_settings()


def test_all_wrong_ones_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUETIME_API_PORT", "x")
    monkeypatch.setenv("DUETIME_LOG_LEVEL", "y")
    with pytest.raises(SettingsError, match=r"(?s)DUETIME_API_PORT.*\nDUETIME_LOG_LEVEL"):
        load_settings()


def test_two_listeners_cannot_share_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUETIME_API_PORT", "7233")
    with pytest.raises(SettingsError, match="DUETIME_API_PORT: 7233 is DUETIME_TEMPORAL_PORT already"):
        load_settings()
    monkeypatch.setenv("DUETIME_TEMPORAL_ADDRESS", "elsewhere:7233")
    assert load_settings().api_port == 7233


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUETIME_LEDGER_URL", "hunter2")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert "hunter2" not in str(refused.value)
    assert refused.value.__suppress_context__  # Nor in a traceback, where pydantic would show it.

    monkeypatch.setenv("DUETIME_LEDGER_URL", "postgresql://app:hunter2@db/ledger")
    settings = load_settings()
    assert settings.ledger_address.endswith("hunter2@db/ledger")
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert "hunter2" not in shown


def test_a_name_nobody_reads_is_warned_about(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DUETIME_QUEUE", "mail")
    (tmp_path / ".env").write_text("DUETIME_API_PROT=9001\n")
    load_settings()
    assert "DUETIME_QUEUE is not a setting and is ignored: did you mean DUETIME_QUEUES?" in caplog.messages
    assert (
        "DUETIME_API_PROT is not a setting and is ignored: did you mean DUETIME_API_PORT?" in caplog.messages
    )


def test_no_far_fetched_guess() -> None:
    (warning,) = unknown_variables(["DUETIME_ZZZ", "PATH"])
    assert "known are DUETIME_TEMPORAL_ADDRESS" in warning


def test_variables_of_clients_are_not_ours_to_warn_of() -> None:
    assert unknown_variables(["DUETIME_URL", "DUETIME_API_KEY"]) == []


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    rows = re.findall(
        r"^\| `(DUETIME_\w+)` \| (.*?) \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE
    )
    assert [name for name, _ in rows] == known_variables()
    for field, info in Settings.model_fields.items():
        told = dict(rows)[variable(field)]
        if isinstance(info.default, str | int | Path) and not isinstance(info.default, bool):
            assert told == f"`{info.default}`", variable(field)


async def test_a_program_with_wrong_settings_ends_with_code_2(tmp_path: Path) -> None:
    program = "from duetime.settings import settings_or_exit; settings_or_exit(); print('went on')"
    process = await start_python("-c", program, cwd=tmp_path, env=environment(DUETIME_API_PORT="x"))
    assert await finish(process) == (
        2,
        "DUETIME_API_PORT: 'x' is not allowed; it must be a port from 1 to 65535\n",
    )
