"""Where the API is: its address and the key, from arguments or the environment, checked before anything is sent."""

import ipaddress
import logging
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from duetime.errors import BadSetting

log = logging.getLogger("duetime.client")

URL_VARIABLE = "DUETIME_URL"
KEY_VARIABLE = "DUETIME_API_KEY"
DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Address:
    """The API's address without a trailing slash, and the key to show there. The key is in no text of this."""

    url: str
    key: SecretStr | None = None

    @property
    def is_tls(self) -> bool:
        return self.url.startswith("https:")

    @property
    def is_loopback(self) -> bool:
        """Whether it is this very machine, so that no proxy can be meant."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def find_address(url: str | None = None, key: str | None = None) -> Address:
    """The address and key given, else those of `DUETIME_URL` and `DUETIME_API_KEY`, else the default and no key.

    `BadSetting` says what is wrong with which; a key is never shown.
    """
    given = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    name = "url" if url else URL_VARIABLE
    found = Address(_checked_url(given, name), _checked_key(key))
    if found.key is not None and not found.is_tls and not found.is_loopback:
        log.warning("the API key goes to %s in clear text: use https", found.url)
    return found


def _checked_url(text: str, name: str) -> str:
    how = f"write {name} as http://host:port or https://host"
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises when it is none
    except ValueError as error:
        raise BadSetting(f"{name}: {error}: {how}") from None
    if parts.username is not None or parts.password is not None:
        raise BadSetting(f"{name}: holds a user or password: give the key as api_key or {KEY_VARIABLE}")
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\\]", text):
        raise BadSetting(f"{name}: {text[:200]!r} is no address of an API: {how}")
    if parts.query or parts.fragment:
        raise BadSetting(f"{name}: has a query or a fragment: {how}")
    return text.rstrip("/")


def _checked_key(key: str | None) -> SecretStr | None:
    name = KEY_VARIABLE if key is None else "api_key"
    found = os.environ.get(KEY_VARIABLE) if key is None else key
    if not found:
        return None
    if not re.fullmatch(r"[!-~]+", found):
        raise BadSetting(f"{name}: a key is printable ASCII without spaces; is there a line end in it?")
    return SecretStr(found)
