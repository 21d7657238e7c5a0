"""The file of keys: read again, never half, and the last good one stays."""

import logging
import os
import stat
import threading
from pathlib import Path

import pytest

from api.security import keyfile
from api.security.keyfile import KeyFile, KeyFileError, edit_ring, read_ring
from api.security.keys import KeyRing
from tests.security.keyring import Clock, Keyring, make_key


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "keys.json")


def names(keys: KeyRing) -> list[str]:
    return [key.name for key in keys.keys]


def test_what_is_written_is_read_and_its_owners_alone(ring: Keyring) -> None:
    ring.add("read", name="one")
    assert names(read_ring(ring.path)) == ["one"]
    assert stat.S_IMODE(ring.path.stat().st_mode) == 0o600
    assert os.listdir(ring.path.parent) == ["keys.json"], "no draft is left"


def test_a_change_is_seen_at_the_next_look(ring: Keyring) -> None:
    file = KeyFile(ring.path)
    assert names(file.ring) == []
    ring.add("read", name="one")
    assert names(file.ring) == ["one"]
    ring.change(lambda _: KeyRing())
    assert names(file.ring) == []


def test_a_file_that_did_not_change_is_not_read_again(ring: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
    file = KeyFile(ring.path)
    monkeypatch.setattr(keyfile, "read_ring", lambda path: pytest.fail("read"))
    assert file.ring is file.ring


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Invalid JSON"),
        ('{"keys": [', "Invalid JSON"),
        ('{"keys": [], "more": 1}', "/more"),
        ('{"keys": [{"id": "x"}]}', "/keys/0/"),
        ('{"version": 2}', "/version"),
        (b"\xff\xfe", "Invalid JSON"),
    ],
)
def test_a_broken_file_leaves_the_last_good_one_and_says_so(
    ring: Keyring, text: str | bytes, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    ring.add("read", name="one")
    file = KeyFile(ring.path)
    good = ring.path.read_bytes()
    ring.path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert names(file.ring) == names(file.ring) == ["one"]
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert f"the keys file {ring.path} is broken" in line and told in line
    assert "the keys read before stay in force" in line

    ring.path.write_bytes(good)
    ring.add("read", name="two")
    assert names(file.ring) == ["one", "two"]


def test_it_goes_on_saying_so(ring: Keyring, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    file = KeyFile(ring.path, clock=clock)
    ring.path.write_text("broken")
    told = []
    for clock.now in (0.0, 30.0, 61.0):
        caplog.clear()
        assert file.ring.keys == ()
        told.append(sum(record.levelno == logging.ERROR for record in caplog.records))
    assert told == [1, 0, 1]


def test_a_file_that_went_away_leaves_the_last_good_one(
    ring: Keyring, caplog: pytest.LogCaptureFixture
) -> None:
    ring.add("read", name="one")
    file = KeyFile(ring.path)
    ring.path.unlink()
    assert names(file.ring) == ["one"]
    assert "cannot be read: No such file or directory: the keys read before stay" in caplog.text


def test_without_a_file_there_is_no_beginning(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be read: No such file"):
        KeyFile(tmp_path / "none.json")
    with pytest.raises(KeyFileError, match="cannot be read: No such file"):
        edit_ring(tmp_path / "none.json", lambda ring: ring)
    with pytest.raises(KeyFileError, match=r"directory .* cannot be used: No such file"):
        edit_ring(tmp_path / "no" / "such" / "none.json", lambda ring: ring, create=True)


def test_an_enormous_file_is_not_read_whole(ring: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyfile, "_LARGEST", 10)
    with pytest.raises(KeyFileError, match="larger than 10 bytes"):
        KeyFile(ring.path)


@pytest.mark.parametrize(("mode", "told"), [(0o644, "may read"), (0o660, "may write"), (0o602, "may write")])
def test_a_file_for_others_is_warned_about(
    ring: Keyring, mode: int, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    ring.path.chmod(mode)
    KeyFile(ring.path)
    assert f"others {told}" in caplog.text and f"({mode:04o})" in caplog.text
    caplog.clear()
    ring.path.chmod(0o600)
    KeyFile(ring.path)
    assert caplog.text == ""


def test_a_change_that_fails_changes_nothing(ring: Keyring) -> None:
    ring.add("read", name="one")
    before = ring.path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        ring.change(lambda _: 1 / 0)
    assert ring.path.read_bytes() == before
    assert os.listdir(ring.path.parent) == ["keys.json"]


def test_a_broken_file_is_not_written_over(ring: Keyring) -> None:
    ring.path.write_text("precious")
    with pytest.raises(KeyFileError, match="is broken"):
        edit_ring(ring.path, lambda ring: ring, create=True)
    assert ring.path.read_text() == "precious"


def test_editors_take_turns(ring: Keyring) -> None:
    """Each reads what the one before has written: of many changes at once none is lost."""
    key, _ = make_key("read")

    def add(number: int) -> None:
        named = key.model_copy(update={"id": f"key{number:05}", "name": str(number)})
        edit_ring(ring.path, lambda keys: keys.with_key(named))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, names(read_ring(ring.path)))) == list(range(20))


def test_a_link_stays_a_link(ring: Keyring, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(ring.path)
    edit_ring(link, lambda keys: keys.with_key(make_key(name="one")[0]))
    assert link.is_symlink()
    assert names(read_ring(ring.path)) == ["one"]
