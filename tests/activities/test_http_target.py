"""URLs: what is taken, in which one spelling, and what is not."""

import pytest
from hypothesis import given
from hypothesis.strategies import sampled_from, text

from activities.http.target import BadUrl, parse_target

TAKEN = [
    ("http://example.org", "example.org", 80, "http://example.org"),
    ("HTTPS://Example.ORG:443/a?b=c#d", "example.org", 443, "https://example.org/a?b=c"),
    ("http://example.org.:8080/", "example.org", 8080, "http://example.org:8080/"),
    ("http://example.org:/", "example.org", 80, "http://example.org/"),
    ("http://1.2.3.4/", "1.2.3.4", 80, "http://1.2.3.4/"),
    ("http://1.2.3.4./", "1.2.3.4", 80, "http://1.2.3.4/"),
    ("http://[2001:DB8:0::1]:81/", "2001:db8::1", 81, "http://[2001:db8::1]:81/"),
    ("http://a_b.example/", "a_b.example", 80, "http://a_b.example/"),
    ("http://bücher.example/ü", "xn--bcher-kva.example", 80, "http://xn--bcher-kva.example/%C3%BC"),
    ("http://127。0。0。1/", "127.0.0.1", 80, "http://127.0.0.1/"),
    ("http://localhost:65535", "localhost", 65535, "http://localhost:65535"),
]
NOT_TAKEN = [
    "",
    "example.org",
    "//example.org/",
    "http:example.org",
    "http:/example.org",
    "http://",
    "http:///etc/passwd",
    "file:///etc/passwd",
    "ftp://example.org/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "javascript:alert(1)",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
    "ws://example.org/",
    " http://example.org/",
    "http://example.org/\n",
    "http://example.org/\r\nHost: other",
    "http://exam\tple.org/",
    "http://example.org\\@127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http://user@example.org/",
    "http://user:secret@example.org/",
    "http://@127.0.0.1/",
    "http://public.example@127.0.0.1/",
    "http://127.0.0.1%2f@public.example/",
    "http://127%2e0%2e0%2e1/",
    "http://example%2eorg/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://127.0.0.0x1/",
    "http://127.0.0.1.1/",
    "http://256.0.0.1/",
    "http://1.2.3.4.5.6/",
    "http://１２７.０.０.１/",
    "http://①②⑦.⓪.⓪.①/",
    "http://[::1/",
    "http://::1/",
    "http://[127.0.0.1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1]a/",
    "http://[v1.a]/",
    "http://example.org:0/",
    "http://example.org:65536/",
    "http://example.org:99999999999/",
    "http://example.org:+80/",
    "http://example.org:8_0/",
    "http://example.org:٨٠/",
    "http://example.org:80:80/",
    "http://example.org:80a/",
    "http://-example.org/",
    "http://example-.org/",
    "http://a..b/",
    "http://example.org../",
    "http://./",
    "http://*/",
    "http://a,b/",
    f"http://{'a' * 64}.example/",
    f"http://{'a.' * 127}example/",
    f"http://example.org/{'a' * 9000}",
    "http://example.org/\ud800",
    "http://\udfff.example/",
]


@pytest.mark.parametrize(("url", "host", "port", "canonical"), TAKEN)
def test_a_plain_url_has_one_spelling(url: str, host: str, port: int, canonical: str) -> None:
    target = parse_target(url)
    assert (target.host, target.port, str(target.url)) == (host, port, canonical)


@pytest.mark.parametrize("url", NOT_TAKEN)
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(BadUrl):
        parse_target(url)


@given(
    sampled_from(["http://", "https://", "HTTP://", "http:", ""]),
    text(alphabet="abz019.-_:@[]%/?#\\xé。①", max_size=12),
    text(alphabet="a/?#%:@\x00 é", max_size=6),
)
def test_what_is_taken_reads_the_same_again(scheme: str, authority: str, rest: str) -> None:
    try:
        target = parse_target(scheme + authority + rest)
    except BadUrl:
        return
    assert parse_target(str(target.url)) == target
    assert target.url.host == target.host or target.url.raw_host.decode() == target.host


def test_a_message_shows_no_query_and_stays_short() -> None:
    target = parse_target(f"https://example.org/{'a' * 500}?token=secret")
    assert "secret" not in str(target)
    assert len(str(target)) == 200
