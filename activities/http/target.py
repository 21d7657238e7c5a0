"""A URL as the payload gives it, taken apart once: what is checked here is what is resolved, connected to and
sent.

Many an address check was passed because two parsers read one URL differently. The authority is therefore held
to a narrow grammar (RFC 3986 section 3.2 without user information, percent-encoding and leading zeros) in
which there is nothing to disagree about, and everything later works on the result.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

import httpx2

from activities.http.addresses import Address

LONGEST_URL = 8 * 1024
_DEFAULT_PORT = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{0,5}))?")
_NEVER_IN_A_URL = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# What resolvers read as an address although it does not look like one: 2130706433, 0x7f.1 (inet_aton(3)).
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class BadUrl(ValueError):
    """The URL cannot be used; the message says why and what to write instead."""


@dataclass(frozen=True)
class Target:
    """Where a request goes.

    `host` is in lower case and ASCII, without brackets and final dot; `url` has no fragment.
    """

    url: httpx2.URL
    scheme: str
    host: str
    port: int

    @property
    def address(self) -> Address | None:
        """The address, when the host is written as one."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        """For messages: without the query, in which people put their secrets."""
        text = str(self.url.copy_with(query=None))
        return text if len(text) <= 200 else text[:199] + "…"


def parse_target(text: str) -> Target:
    """The target that `text` names; `BadUrl` when it is not a plain absolute http(s) URL."""
    if len(text) > LONGEST_URL:
        raise BadUrl(f"longer than {LONGEST_URL} characters")
    if _NEVER_IN_A_URL.search(text):
        raise BadUrl("holds a space, a control character, a backslash or half a character: percent-encode it")
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _DEFAULT_PORT:
        raise BadUrl('must be absolute and begin with "http://" or "https://"')
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        raise BadUrl('holds a user name: put credentials into the header "Authorization"')
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise BadUrl(f"{authority[:100]!r} is not a host with an optional port")
    host = parse_host(match["host"])
    port = int(match["port"]) if match["port"] else _DEFAULT_PORT[scheme]
    if not 1 <= port <= 65_535:
        raise BadUrl(f"port {port} is not between 1 and 65535")
    try:
        url = httpx2.URL(text).copy_with(host=host, port=port, fragment=None)
    except httpx2.InvalidURL as error:
        raise BadUrl(str(error)) from None
    return Target(url, scheme, host, port)


def parse_host(text: str) -> str:
    """The one spelling of a host name or address (in brackets when IPv6); `BadUrl` when it is neither."""
    if text.startswith("["):
        try:
            return str(IPv6Address(text[1:-1]))
        except ValueError:
            raise BadUrl(f"{text[:100]!r} is not an IPv6 address") from None
    try:
        # Maps international names and their dots to ASCII, as the connection would (RFC 5891).
        host = httpx2.URL(scheme="http", host=text).raw_host.decode("ascii").removesuffix(".")
    except httpx2.InvalidURL:
        raise BadUrl(f"{text[:100]!r} is not a host name") from None
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise BadUrl(f"{text[:100]!r}: write an IPv4 address as four decimal numbers") from None
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadUrl(f"{text[:100]!r} is not a host name")
    return host
