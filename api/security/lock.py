"""The lock itself: with keys, or open. Open means loopback, unless somebody said in so many words that it may not."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Literal

from api.problems import Problem
from api.security.caller import ANYBODY, Caller
from api.security.keyfile import KeyFile, KeyFileError
from api.security.keys import BadKey, check_key
from api.security.moderation import Seldom
from duetime.settings import Settings, SettingsError

log = logging.getLogger("duetime.security")

Headers = Iterable[tuple[bytes, bytes]]


class Keys:
    """Whoever calls must hold a key of the file."""

    access: Literal["keys"] = "keys"
    is_for_strangers = False

    def __init__(self, file: KeyFile) -> None:
        self._file = file
        self._seldom = Seldom()

    def caller(self, headers: Headers) -> Caller:
        """The caller that the request's key names; a `401` problem without a good one."""
        given = [value for name, value in headers if name == b"authorization"]
        if not given:
            raise _unauthorized("this needs a key: send `Authorization: Bearer dt_…`")
        try:
            return check_key(self._file.ring, _bearer(given), datetime.now(UTC))
        except BadKey as error:
            if skipped := self._seldom.turn():
                log.warning("refused a call: %s (%d such in a while)", error, skipped)
            raise _unauthorized(str(error), "invalid_token") from None

    def describe(self) -> str:
        keys = self._file.ring.keys
        active = sum(key.state(datetime.now(UTC)) == "active" for key in keys)
        return f"callers need a key: {active} of {len(keys)} in {self._file.path} are active"


class Open:
    """Whoever reaches the port may do everything; `is_for_strangers` when others than this machine may."""

    access: Literal["open"] = "open"

    def __init__(self, *, is_for_strangers: bool) -> None:
        self.is_for_strangers = is_for_strangers

    def caller(self, headers: Headers) -> Caller:
        return ANYBODY

    def describe(self) -> str:
        where = "whoever reaches the port" if self.is_for_strangers else "everybody on this machine"
        return f"no keys: {where} may do everything (DUETIME_API_KEYS_FILE changes that)"


Lock = Keys | Open


def lock_of(settings: Settings) -> Lock:
    """The lock that the settings ask for; `SettingsError` when they ask for what is not safe, or has no keys."""
    if settings.api_keys_file is not None:
        try:
            return Keys(KeyFile(settings.api_keys_file))
        except KeyFileError as error:
            raise SettingsError(
                f"DUETIME_API_KEYS_FILE: {error}; `python -m api.keys create NAME --scopes submit,read` makes one"
            ) from None
    if not settings.api_open and not is_loopback(settings.api_host):
        raise SettingsError(
            f"DUETIME_API_HOST: {settings.api_host!r} can be reached from other machines, and without keys whoever "
            "reaches the API may do everything: set DUETIME_API_KEYS_FILE, or DUETIME_API_OPEN=true if something "
            "else keeps strangers away"
        )
    return Open(is_for_strangers=settings.api_open)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`: an address of the loopback interface, or `localhost`."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host.lower() == "localhost"
    # A socket for both families shows 127.0.0.1 as ::ffff:127.0.0.1.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _bearer(given: list[bytes]) -> str:
    if len(given) > 1:
        raise BadKey("there are two Authorization headers: send one")
    scheme, _, token = given[0].decode("latin-1").strip().partition(" ")
    if scheme.lower() != "bearer":
        raise BadKey("a key is sent as `Authorization: Bearer dt_…`")
    return token.strip()


def _unauthorized(detail: str, error: str | None = None) -> Problem:
    """As RFC 6750, section 3, has it: no error code for a request that tried no key."""
    challenge = 'Bearer realm="duetime"' + (f', error="{error}"' if error else "")
    return Problem(401, "unauthorized", "No or wrong key", detail, headers={"WWW-Authenticate": challenge})
