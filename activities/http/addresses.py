"""Which addresses are the public internet: one table, with the reason for every exception.

`ipaddress.is_global` is not enough: what it says differs between Python releases (3.11.7 calls multicast,
6to4, NAT64, site-local and newer special ranges global), and it knows nothing of the addresses at which
clouds hand out credentials. So IPv6 is refused unless it is inside the one block that is assigned as global
unicast, and the exceptions are written down here. Sources: the IANA special-purpose address registries for
IPv4 and IPv6 (RFC 6890, RFC 8190), the IANA IPv6 address space registry, and the documentation of the clouds.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import cast

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_V4 = {
    "0.0.0.0/8": "this network (RFC 791)",
    "10.0.0.0/8": "private (RFC 1918)",
    "100.64.0.0/10": "shared address space (RFC 6598)",
    "127.0.0.0/8": "loopback (RFC 1122)",
    "168.63.129.16/32": "the Azure platform address",
    "169.254.0.0/16": "link-local or cloud metadata (RFC 3927)",
    "172.16.0.0/12": "private (RFC 1918)",
    "192.0.0.0/24": "IETF protocol assignments (RFC 6890)",
    "192.0.2.0/24": "documentation (RFC 5737)",
    "192.88.99.0/24": "deprecated 6to4 relay (RFC 7526)",
    "192.168.0.0/16": "private (RFC 1918)",
    "198.18.0.0/15": "benchmarking (RFC 2544)",
    "198.51.100.0/24": "documentation (RFC 5737)",
    "203.0.113.0/24": "documentation (RFC 5737)",
    "224.0.0.0/4": "multicast (RFC 5771)",
    "240.0.0.0/4": "reserved or broadcast (RFC 1112)",
}
# Ranges outside 2000::/3 are listed for their reason alone: the whole outside is refused.
_V6 = {
    "::/128": "unspecified (RFC 4291)",
    "::1/128": "loopback (RFC 4291)",
    "::/96": "IPv4-compatible (RFC 4291)",
    "::ffff:0:0/96": "IPv4-mapped (RFC 4291)",
    "64:ff9b::/96": "NAT64, which can hide a private IPv4 address (RFC 6052)",
    "64:ff9b:1::/48": "local NAT64 (RFC 8215)",
    "100::/64": "discard-only (RFC 6666)",
    "100:0:0:1::/64": "dummy prefix (RFC 9780)",
    "2001::/23": "IETF protocol assignments, Teredo included (RFC 2928)",
    "2001:db8::/32": "documentation (RFC 3849)",
    "2002::/16": "6to4, which can hide a private IPv4 address (RFC 3056)",
    "3fff::/20": "documentation (RFC 9637)",
    "5f00::/16": "segment routing (RFC 9602)",
    "fc00::/7": "unique local or cloud metadata (RFC 4193)",
    "fe80::/10": "link-local (RFC 4291)",
    "fec0::/10": "site-local (RFC 3879)",
    "ff00::/8": "multicast (RFC 4291)",
}
_EXCEPTIONS = tuple((ip_network(text), reason) for text, reason in (_V4 | _V6).items())
_GLOBAL_UNICAST = cast(IPv6Network, ip_network("2000::/3"))


def why_not_public(address: Address) -> str | None:
    """What `address` is when it is not of the public internet, `None` when it is.

    >>> from ipaddress import ip_address
    >>> why_not_public(ip_address("10.1.2.3"))
    'private (RFC 1918)'
    >>> why_not_public(ip_address("8.8.8.8")) is None
    True
    """
    for network, reason in _EXCEPTIONS:
        if address in network:
            return reason
    if address.version == 6 and address not in _GLOBAL_UNICAST:
        return "not global unicast (RFC 4291)"
    return None
