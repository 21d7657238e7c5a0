"""Who may be called: the public internet, and what the operator has opened with `DUETIME_HTTP_ALLOW`.

The list has hosts (`hooks.internal`), hosts with a port (`127.0.0.1:8080`, `[::1]:8080`), addresses and
networks (`10.20.0.0/16`), separated by commas. An entry that is a name opens every address the name has at
the time of the call: it trusts whoever keeps that name's DNS. An entry that is an address or a network opens
it under every name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from activities.http.addresses import Address, Network, why_not_public
from activities.http.target import BadUrl, Target, parse_host

_ENTRY = re.compile(r"(?P<host>\[[^\]]+\]|[^:\[\]/]+)(?::(?P<port>[0-9]{1,5}))?")


class AddressRefused(Exception):
    """The target is not public and not on the allow-list.

    The message goes to whoever submitted the job and does not name the address that a name resolved to: they
    need not learn the map of the internal network. `address` is for the worker's own log.
    """

    def __init__(self, target: Target, address: Address, reason: str) -> None:
        self.address = address
        what = "is" if target.address else "resolves to an address that is"
        super().__init__(
            f"url: {target.host} {what} {reason}; the operator of the worker can open it with "
            "DUETIME_HTTP_ALLOW"
        )


@dataclass(frozen=True)
class AllowEntry:
    """One thing that is open: a name or a network, on one port or on all."""

    where: str | Network
    port: int | None = None

    def opens(self, target: Target, address: Address) -> bool:
        if self.port not in (None, target.port):
            return False
        return target.host == self.where if isinstance(self.where, str) else address in self.where


@dataclass(frozen=True)
class AddressPolicy:
    """Decides over addresses that are resolved already: what was judged is what is connected to."""

    allowed: tuple[AllowEntry, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "AddressPolicy":
        """The policy of a `DUETIME_HTTP_ALLOW`; `ValueError` names the entry and what is allowed."""
        return cls(tuple(_parse_entry(entry.strip()) for entry in text.split(",") if entry.strip()))

    def vet(self, target: Target, addresses: Sequence[Address]) -> None:
        """`AddressRefused` unless every one of `addresses` may be called.

        One private record makes a name private: nobody can say which one is answered next.
        """
        for address in addresses:
            reason = why_not_public(address)
            if reason and not any(entry.opens(target, address) for entry in self.allowed):
                raise AddressRefused(target, address, reason)


def _parse_entry(entry: str) -> AllowEntry:
    try:
        return AllowEntry(ip_network(entry))
    except ValueError:
        pass
    match = _ENTRY.fullmatch(entry)
    try:
        if match is None or (match["port"] and not 1 <= int(match["port"]) <= 65_535):
            raise BadUrl("")
        host = parse_host(match["host"])
    except BadUrl:
        raise ValueError(
            f"DUETIME_HTTP_ALLOW: {entry[:100]!r} is none of host, host:port, address, address:port, network "
            "(10.20.0.0/16, without host bits), separated by commas"
        ) from None
    port = int(match["port"]) if match["port"] else None
    try:
        return AllowEntry(ip_network(ip_address(host)), port)
    except ValueError:
        return AllowEntry(host, port)
