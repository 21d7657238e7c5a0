"""Keys for tests: a keys file, and what one needs to call with a key of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from api.security.keyfile import edit_ring
from api.security.keys import Key, KeyRing, hash_of, new_secret
from duetime.settings import Settings

NOW = datetime(2027, 1, 15, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


def make_key(*scopes: str, **options: Any) -> tuple[Key, str]:
    """A key as the file keeps it, and the whole of it."""
    key_id, secret = new_secret()
    fields = {"name": "a key of the tests", "created_at": datetime.now(UTC), **options}
    return Key(id=key_id, sha256=hash_of(secret), scopes=scopes or ("admin",), **fields), secret


def bearer(secret: str) -> dict[str, str]:
    """The header that carries a key."""
    return {"Authorization": f"Bearer {secret}"}


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Keyring:
    """A keys file that tests add to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        edit_ring(path, lambda ring: ring, create=True)

    def add(self, *scopes: str, **options: Any) -> str:
        """A new key, in force from the next call on."""
        key, secret = make_key(*scopes, **options)
        self.change(lambda ring: ring.with_key(key))
        return secret

    def change(self, how: Any) -> KeyRing:
        kept: list[KeyRing] = []

        def change(ring: KeyRing) -> KeyRing:
            kept.append(how(ring))
            return kept[0]

        edit_ring(self.path, change)
        return kept[0]


def settings(**fields: Any) -> Settings:
    """The defaults but for `fields`, whatever is in the environment of who runs the tests."""
    return Settings.model_construct(**fields)
