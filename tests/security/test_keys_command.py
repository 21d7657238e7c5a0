"""`python -m api.keys`."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from api.keys import main
from api.security.keyfile import read_ring
from api.security.keys import BadKey, check_key
from api.security.scopes import Scope
from tests.engine.programs import environment, finish, start_python
from tests.security.keyring import HOUR, NOW

Captured = pytest.CaptureFixture[str]


class Command:
    """The command on a file of the test, at a time of the test."""

    def __init__(self, path: Path, captured: Captured) -> None:
        self.path = path
        self.now = NOW
        self._captured = captured

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = main([arguments[0], "--file", str(self.path), *arguments[1:]], self.now)
        out, err = self._captured.readouterr()
        return code, out, err

    def create(self, *arguments: str) -> str:
        code, out, _ = self("create", *arguments)
        assert code == 0
        return out.strip()

    def state(self, secret: str) -> str:
        try:
            return check_key(read_ring(self.path), secret, self.now).name
        except BadKey as error:
            return str(error)


@pytest.fixture
def keys(tmp_path: Path, capsys: Captured) -> Command:
    return Command(tmp_path / "keys.json", capsys)


def test_the_first_key_makes_its_directory_too(tmp_path: Path, capsys: Captured) -> None:
    """As the guide has it: `DUETIME_API_KEYS_FILE=keys/keys.json` in a fresh checkout."""
    keys = Command(tmp_path / "keys" / "keys.json", capsys)
    assert keys.state(keys.create("mailer", "--scopes", "read")) == "mailer"
    assert keys.path.parent.stat().st_mode & 0o777 == 0o700
    far = Command(tmp_path / "no" / "such" / "keys.json", capsys)
    code, _, err = far("create", "mailer", "--scopes", "read")
    assert code != 0 and "cannot be used: No such file" in err


def id_of(secret: str) -> str:
    return secret.split("_")[1]


def test_a_new_key_is_shown_once_and_works(keys: Command) -> None:
    code, out, err = keys(
        "create", "mailer", "--scopes", "submit, read", "--queues", "mail,reports", "--kinds", "mail.send",
        "--expires", "90d", "--rate", "20",
    )  # fmt: skip
    assert code == 0
    secret = out.removesuffix("\n")
    assert re.fullmatch(r"dt_[a-z0-9]{8}_[A-Za-z0-9]{43}", secret), "alone, for $(…)"
    assert "(mailer) is in" in err and secret not in err
    assert secret not in keys.path.read_text()
    caller = check_key(read_ring(keys.path), secret, NOW + timedelta(days=89))
    assert caller.scopes == {Scope.SUBMIT, Scope.READ}
    assert (caller.queues, caller.kinds, caller.rate) == ({"mail", "reports"}, {"mail.send"}, 20)
    keys.now = NOW + timedelta(days=90)
    assert keys.state(secret) == "this key is expired: ask for a new one"


def test_the_list_says_everything_but_the_secret(keys: Command) -> None:
    secrets = [
        keys.create("one", "--scopes", "admin"),
        keys.create("two", "--scopes", "read", "--queues", "a,b", "--expires", "1h", "--rate", "5"),
        keys.create("three", "--scopes", "read"),
    ]
    keys("revoke", id_of(secrets[2]))
    keys.now = NOW + HOUR
    code, out, err = keys("list")
    assert (code, err) == (0, "")
    header, *rows = [re.split(r"  +", line) for line in out.splitlines()]
    assert header == ["ID", "NAME", "STATE", "SCOPES", "QUEUES", "KINDS", "RATE", "EXPIRES"]
    assert [row[1:] for row in rows] == [
        ["one", "active", "admin", "*", "*", "-", "never"],
        ["two", "expired", "read", "a,b", "*", "5", "2027-01-15T10:00:00Z"],
        ["three", "revoked", "read", "*", "*", "-", "never"],
    ]
    assert [secret for secret in secrets if secret.rpartition("_")[2] in out] == []


def test_a_revoked_key_ends_at_once(keys: Command) -> None:
    secret = keys.create("one", "--scopes", "read")
    assert keys("revoke", id_of(secret)) == (0, "", f"{id_of(secret)} is revoked\n")
    assert keys.state(secret) == "this key is revoked: ask for a new one"
    code, _, err = keys("revoke", id_of(secret))
    assert (code, err) == (1, f"{id_of(secret)} was revoked before, at 2027-01-15T09:00:00Z\n")


def test_after_a_rotation_both_are_good_for_a_while(keys: Command) -> None:
    old = keys.create("mailer", "--scopes", "submit", "--queues", "mail", "--rate", "3")
    code, out, err = keys("rotate", id_of(old), "--overlap", "2h")
    new = out.strip()
    assert code == 0
    assert f"{id_of(old)} is good until 2027-01-15T11:00:00Z" in err
    before, after = (check_key(read_ring(keys.path), secret, NOW) for secret in (old, new))
    assert after.key_id != before.key_id
    assert (after.name, after.scopes, after.queues, after.kinds, after.rate) == (
        before.name, before.scopes, before.queues, before.kinds, before.rate,
    )  # fmt: skip
    assert read_ring(keys.path).by_id[id_of(new)].replaces == id_of(old)
    keys.now = NOW + 2 * HOUR
    assert keys.state(old) == "this key is expired: ask for a new one"
    assert keys.state(new) == "mailer"


def test_a_rotation_never_lengthens_a_life(keys: Command) -> None:
    old = keys.create("mailer", "--scopes", "submit", "--expires", "10h")
    keys.now = NOW + 9 * HOUR
    keys("rotate", id_of(old), "--overlap", "7d")
    ring = read_ring(keys.path)
    assert ring.by_id[id_of(old)].expires_at == NOW + 10 * HOUR
    (new,) = (key for key in ring.keys if key.replaces)
    assert new.expires_at == NOW + 19 * HOUR, "as long as the old one had"


def test_what_has_ended_is_not_rotated(keys: Command) -> None:
    old = keys.create("mailer", "--scopes", "submit", "--expires", "1h")
    keys.now = NOW + HOUR
    assert keys("rotate", id_of(old)) == (1, "", f"{id_of(old)} is expired: create a new key instead\n")


@pytest.mark.parametrize("command", ["revoke", "rotate"])
def test_an_unknown_id_is_told(keys: Command, command: str) -> None:
    keys.create("one", "--scopes", "read")
    assert keys(command, "nobody00") == (1, "", "there is no key nobody00; `list` shows them\n")


@pytest.mark.parametrize("command", ["list", "revoke", "rotate"])
def test_only_create_makes_the_file(keys: Command, command: str) -> None:
    code, out, err = keys(command, *([] if command == "list" else ["nobody00"]))
    assert (code, out) == (1, "")
    assert "cannot be read: No such file or directory" in err
    assert not keys.path.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("one", "--scopes", "root"), "--scopes: must be one of 'submit', 'read', 'operate', 'admin'"),
        (("one", "--scopes", ","), "--scopes: must have at least 1 item"),
        (
            ("one", "--scopes", "read", "--queues", "a b"),
            "--queues: may hold letters, digits and _ . : - only",
        ),
        (("one", "--scopes", "read", "--rate", "0"), "--rate: must be at least 1"),
        (("", "--scopes", "read"), "--name: must have at least 1 character"),
    ],
)
def test_a_wrong_argument_is_named(keys: Command, arguments: tuple[str, ...], told: str) -> None:
    code, out, err = keys("create", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(told)
    assert not keys.path.exists()


@pytest.mark.parametrize("span", ["soon", "0s", "-1d", "P1M"])
def test_a_wrong_span_is_named(keys: Command, span: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        keys("create", "one", "--scopes", "read", f"--expires={span}")
    assert "argument --expires:" in capsys.readouterr().err


async def test_as_people_run_it(tmp_path: Path) -> None:
    """The file comes from the settings; without one, which file is asked."""
    env = environment(DUETIME_API_KEYS_FILE="keys.json")
    create = await start_python("-m", "api.keys", "create", "me", "--scopes", "admin", cwd=tmp_path, env=env)
    code, seen = await finish(create)
    assert code == 0
    assert re.search(r"^dt_\w{52}$", seen, re.MULTILINE)
    listed = await start_python("-m", "api.keys", "list", cwd=tmp_path, env=env)
    code, seen = await finish(listed)
    assert code == 0 and "me" in seen
    nothing = await start_python("-m", "api.keys", "list", cwd=tmp_path, env=environment())
    assert await finish(nothing) == (2, "which file? give --file, or set DUETIME_API_KEYS_FILE\n")
