"""API keys: made once and shown once, kept as a hash, checked in constant time.

A key reads `dt_<id>_<secret>`: an id of 8 characters, which is no secret and names the key in logs and commands, and
43 letters and digits, which are 256 bits. Of so much randomness one SHA-256 is as good a keeper as any slow hash, for
there is nothing to guess; a slow one would only let strangers keep the API busy.
"""

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from api.security.caller import Caller
from api.security.scopes import Scope, granted
from duetime.contracts.job import Kind, Queue

_ID = string.ascii_lowercase + string.digits
_SECRET = string.ascii_letters + string.digits
#: 62 ** 43 is more than 2 ** 256.
_SECRET_LENGTH = 43
_FORM = re.compile(rf"dt_([a-z0-9]{{8}})_[A-Za-z0-9]{{{_SECRET_LENGTH}}}")


def _printable(name: str) -> str:
    if not name.isprintable() or name != name.strip():
        raise ValueError("must be printable, with no space at its ends")
    return name


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


class Key(BaseModel):
    """One key as the file keeps it: everything but the secret. `queues` and `kinds` of `None` are all of them."""

    # A misspelt `queues` must not open all of them; and what was wrong is never shown.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    id: Annotated[str, Field(pattern="^[a-z0-9]{8}$")]
    name: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$", repr=False)]
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1), AfterValidator(_each_once)]
    queues: Annotated[tuple[Queue, ...], Field(min_length=1), AfterValidator(_each_once)] | None = None
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1), AfterValidator(_each_once)] | None = None
    rate: Annotated[int, Field(ge=1)] | None = None
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None
    #: The id of the key that this one took over from.
    replaces: str | None = None

    def state(self, now: datetime) -> Literal["active", "expired", "revoked"]:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"

    @cached_property
    def caller(self) -> Caller:
        return Caller(
            name=self.name,
            scopes=granted(self.scopes),
            key_id=self.id,
            queues=None if self.queues is None else frozenset(self.queues),
            kinds=None if self.kinds is None else frozenset(self.kinds),
            rate=self.rate,
        )


class KeyRing(BaseModel):
    """All keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    version: Literal[1] = 1
    keys: tuple[Key, ...] = ()

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        if len(self.by_id) < len(self.keys):
            raise ValueError("two keys have the same id")
        return self

    @cached_property
    def by_id(self) -> dict[str, Key]:
        return {key.id: key for key in self.keys}

    def with_key(self, key: Key) -> "KeyRing":
        """With `key` added, or in the place of the one with its id."""
        others = (other for other in self.keys if other.id != key.id)
        return KeyRing(keys=(*others, key))


class BadKey(ValueError):
    """The key lets nobody in; says why, and never shows the key."""


def new_secret(taken: Iterable[str] = ()) -> tuple[str, str]:
    """A new key's id, none of `taken`, and the whole key, which is never seen again."""
    in_use = set(taken)
    while (found := "".join(secrets.choice(_ID) for _ in range(8))) in in_use:
        pass
    secret = "".join(secrets.choice(_SECRET) for _ in range(_SECRET_LENGTH))
    return found, f"dt_{found}_{secret}"


def hash_of(secret: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(secret.encode()).hexdigest()


#: What a key of an unknown id is compared with, so that it costs what a known one costs.
_NOBODY = hash_of(secrets.token_hex(32))


def check_key(ring: KeyRing, presented: str, now: datetime) -> Caller:
    """The caller that `presented` proves to be; `BadKey` says why it proves nothing.

    That a key was revoked or has expired is told only to who holds it.
    """
    form = _FORM.fullmatch(presented)
    if form is None:
        raise BadKey("this is not a key of Duetime: one reads dt_<id>_<secret>")
    key = ring.by_id.get(form[1])
    proven = hmac.compare_digest(hash_of(presented), key.sha256 if key else _NOBODY)
    if key is None or not proven:
        raise BadKey("nobody has this key")
    state = key.state(now)
    if state != "active":
        raise BadKey(f"this key is {state}: ask for a new one")
    return key.caller
