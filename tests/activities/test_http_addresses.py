"""The table of addresses against what is known, and against the standard library where that is right."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from activities.http.addresses import why_not_public
from activities.http.policy import AddressPolicy, AddressRefused
from activities.http.target import parse_target

_REFUSED = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254
168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1
192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250
240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1
64:ff9b::808:808 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::
2002:808:808:: 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 fec0::1
ff02::1 ff0e::1
"""
_PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 168.63.129.15
172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2620:fe::fe 2a00:1450:4001::1 3ffe::1
"""
REFUSED, PUBLIC = _REFUSED.split(), _PUBLIC.split()


@pytest.mark.parametrize("text", REFUSED)
def test_every_special_address_is_refused_with_its_reason(text: str) -> None:
    assert why_not_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_the_neighbours_of_special_ranges_are_public(text: str) -> None:
    assert why_not_public(ip_address(text)) is None


@given(ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_special(
    address: IPv4Address | IPv6Address,
) -> None:
    if why_not_public(address) is None:
        assert address.is_global and not address.is_multicast and not address.is_reserved


ALLOW_CASES = [
    ("10.1.2.3", "http://10.1.2.3/", "10.1.2.3", True),
    ("10.1.2.3", "http://10.1.2.4/", "10.1.2.4", False),
    ("10.1.0.0/16", "http://db.example/", "10.1.9.9", True),
    ("10.1.0.0/16", "http://db.example/", "10.2.0.1", False),
    ("127.0.0.1:8080", "http://127.0.0.1:8080/", "127.0.0.1", True),
    ("127.0.0.1:8080", "http://127.0.0.1:8081/", "127.0.0.1", False),
    ("127.0.0.1:80", "http://127.0.0.1/", "127.0.0.1", True),
    ("hooks.internal", "https://HOOKS.internal./x", "10.0.0.1", True),
    ("hooks.internal", "https://hooks.internal.example/", "10.0.0.1", False),
    ("hooks.internal:443", "https://hooks.internal/", "10.0.0.1", True),
    ("hooks.internal:443", "http://hooks.internal/", "10.0.0.1", False),
    ("::1", "http://[::1]:9/", "::1", True),
    ("[::1]:9", "http://[0:0:0:0:0:0:0:1]:9/", "::1", True),
    ("[::1]:9", "http://[::1]:10/", "::1", False),
    ("fd00::/8, 10.0.0.0/8", "http://a.example/", "fd00::5", True),
    # An IPv4 network does not open the disguises of its addresses.
    ("10.0.0.0/8", "http://[::ffff:10.0.0.1]/", "::ffff:10.0.0.1", False),
    (" , ", "http://10.0.0.1/", "10.0.0.1", False),
    ("", "http://example.org/", "93.184.216.34", True),
]


@pytest.mark.parametrize(("allow", "url", "address", "opened"), ALLOW_CASES)
def test_the_allow_list_opens_what_it_names_and_nothing_else(
    allow: str, url: str, address: str, opened: bool
) -> None:
    policy, target = AddressPolicy.parse(allow), parse_target(url)
    if opened:
        policy.vet(target, [ip_address(address)])
    else:
        with pytest.raises(AddressRefused, match="DUETIME_HTTP_ALLOW"):
            policy.vet(target, [ip_address(address)])


def test_an_open_address_does_not_open_the_others_of_its_name() -> None:
    policy = AddressPolicy.parse("10.0.0.1")
    with pytest.raises(AddressRefused) as refused:
        policy.vet(parse_target("http://a.example/"), [ip_address("10.0.0.1"), ip_address("10.0.0.2")])
    assert "10.0.0" not in str(refused.value)
    assert str(refused.value.address) == "10.0.0.2"


@pytest.mark.parametrize(
    "entry",
    [
        "*",
        "*.internal",
        "http://a",
        "10.0.0.1/8",
        "10.0.0.0/40",
        "a:0",
        "a:70000",
        "a:b",
        "2130706433",
        "0x7f.1",
        "a b",
        "user@host",
        "[::1",
        "-a",
    ],
)
def test_a_wrong_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="DUETIME_HTTP_ALLOW") as refused:
        AddressPolicy.parse(f"good.example,{entry}")
    assert entry in str(refused.value)
