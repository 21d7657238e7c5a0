"""A key and its check, without a file or a network."""

import hmac
import re
from datetime import datetime
from typing import Any

import pytest
from pydantic import ValidationError

from api.security import keys
from api.security.keys import BadKey, Key, KeyRing, check_key, hash_of, new_secret
from api.security.scopes import Scope
from tests.security.keyring import HOUR, NOW, make_key


def test_a_key_names_its_id_and_holds_256_bits() -> None:
    key_id, secret = new_secret()
    assert re.fullmatch(rf"dt_{key_id}_[A-Za-z0-9]{{43}}", secret)
    assert 62**43 > 2**256
    assert len({new_secret()[1] for _ in range(1000)}) == 1000


def test_an_id_that_is_taken_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("a" * 8 + "b" * 8 + "c" * 43)
    monkeypatch.setattr(keys.secrets, "choice", lambda _: next(letters))
    assert new_secret(taken={"a" * 8})[0] == "b" * 8


def test_what_is_kept_is_a_hash() -> None:
    key, secret = make_key("read")
    kept = KeyRing(keys=(key,)).model_dump_json()
    assert secret not in kept and secret.rpartition("_")[2] not in kept
    assert hash_of(secret) in kept
    assert hash_of(secret) not in repr(key)


def test_the_right_key_is_its_caller() -> None:
    key, secret = make_key("submit", "read", name="mailer", queues=("mail",), kinds=("mail.send",), rate=7)
    caller = check_key(KeyRing(keys=(key,)), secret, NOW)
    assert (caller.name, caller.key_id, caller.rate) == ("mailer", key.id, 7)
    assert caller.scopes == {Scope.SUBMIT, Scope.READ}
    assert caller.may_see("mail.send", "mail")
    assert not caller.may_see("mail.send", "other")
    assert not caller.may_see("other", "mail")
    assert not caller.may_see(None, "mail"), "what nobody can tell is nobody's"


@pytest.mark.parametrize(
    ("scopes", "has"),
    [
        ((), ()),
        (("submit",), ("submit",)),
        (("read",), ("read",)),
        (("operate",), ("operate", "read")),
        (("submit", "operate"), ("submit", "operate", "read")),
        (("admin",), ("submit", "read", "operate", "admin")),
    ],
)
def test_scopes_and_what_they_include(scopes: tuple[str, ...], has: tuple[str, ...]) -> None:
    assert keys.granted(map(Scope, scopes)) == set(has)


def test_a_bad_key_says_what_is_wrong_and_nothing_else() -> None:
    key, secret = make_key()
    ring = KeyRing(keys=(key,))
    other = new_secret()[1]
    wrong_secret = f"dt_{key.id}_{other.rpartition('_')[2]}"
    for presented in ("", "x", secret[:-1], f"{secret}a", secret.upper(), f" {secret}", f"{secret}\n"):
        with pytest.raises(BadKey, match="this is not a key of Duetime"):
            check_key(ring, presented, NOW)
    for presented in (other, wrong_secret):
        with pytest.raises(BadKey, match=r"^nobody has this key$"):
            check_key(ring, presented, NOW)


@pytest.mark.parametrize(
    ("fields", "now", "told"),
    [
        ({"expires_at": NOW}, NOW, "expired"),
        ({"expires_at": NOW - HOUR}, NOW, "expired"),
        ({"revoked_at": NOW}, NOW - HOUR, "revoked"),
        ({"revoked_at": NOW, "expires_at": NOW}, NOW, "revoked"),
    ],
)
def test_a_key_that_has_ended_lets_nobody_in(fields: dict[str, Any], now: datetime, told: str) -> None:
    key, secret = make_key(**fields)
    with pytest.raises(BadKey, match=f"this key is {told}"):
        check_key(KeyRing(keys=(key,)), secret, now)
    with pytest.raises(BadKey, match="nobody has this key"):  # told to who holds it, and to nobody else
        check_key(KeyRing(keys=(key,)), f"dt_{key.id}_{'x' * 43}", now)


def test_until_it_expires_a_key_is_good() -> None:
    key, secret = make_key(expires_at=NOW + HOUR)
    assert check_key(KeyRing(keys=(key,)), secret, NOW).key_id == key.id


def test_an_unknown_id_costs_what_a_known_one_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One hash and one comparison in constant time, whatever is wrong with the key."""
    compared: list[tuple[str, str]] = []

    def compare(a: str, b: str) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(hmac, "compare_digest", compare)
    key, secret = make_key()
    ring, strange = KeyRing(keys=(key,)), new_secret()[1]
    check_key(ring, secret, NOW)
    for presented in (strange, f"dt_{key.id}_{'x' * 43}"):
        with pytest.raises(BadKey):
            check_key(ring, presented, NOW)
    assert [len(a) == len(b) == 64 for a, b in compared] == [True] * 3
    assert [a for a, _ in compared] == [hash_of(secret), hash_of(strange), hash_of(f"dt_{key.id}_{'x' * 43}")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"queue": ["mail"]},  # misspelt: must not open all of them
        {"queues": []},
        {"kinds": []},
        {"queues": ["a b"]},
        {"scopes": []},
        {"scopes": ["root"]},
        {"sha256": "plain"},
        {"id": "SHORT"},
        {"name": ""},
        {"name": "two\nlines"},
        {"rate": 0},
        {"created_at": "2027-01-15T09:00:00"},  # whose nine o'clock?
    ],
)
def test_a_key_that_is_not_quite_one_is_refused(wrong: dict[str, Any]) -> None:
    good = make_key()[0].model_dump(mode="json")
    Key.model_validate(good)
    with pytest.raises(ValidationError):
        Key.model_validate({**good, **wrong})


def test_two_keys_cannot_have_one_id() -> None:
    key, _ = make_key()
    with pytest.raises(ValidationError, match="two keys have the same id"):
        KeyRing(keys=(key, key))
