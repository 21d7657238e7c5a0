"""Header fields: which a payload may set, and which are always ours.

A field that frames the message or belongs to one connection (RFC 9110 section 7.6.1, RFC 9112 section 6) is
the transport's alone, and one that says who calls, for which job and in which attempt must be believable, so
that no payload can set either.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from activities.context import JobContext
from duetime.contracts.instants import format_instant

MOST_HEADERS = 64
LONGEST_VALUE = 8 * 1024

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_OF_THE_CONNECTION = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OURS = frozenset({"idempotency-key", "webhook-id", "webhook-timestamp", "webhook-signature"})
_OUR_PREFIX = "duetime-"
# What goes along when a redirect leads to another origin: what says how to read the message. Anything else
# that the payload set may be a credential, whatever its name.
_HARMLESS = frozenset(
    {"accept", "accept-language", "accept-encoding", "content-type", "content-language", "user-agent"}
)

Headers = dict[str, str]


def check_headers(headers: Mapping[str, str]) -> Headers:
    """The fields with lower-case names; `ValueError` names the one that may not be set and why."""
    if len(headers) > MOST_HEADERS:
        raise ValueError(f"at most {MOST_HEADERS} headers")
    checked: Headers = {}
    for name, value in headers.items():
        lower = name.lower()
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name[:100]!r} is not a header name (RFC 9110 section 5.1)")
        if lower in _OF_THE_CONNECTION:
            raise ValueError(f"{name}: belongs to the connection and cannot be set")
        if lower in _OURS or lower.startswith(_OUR_PREFIX):
            raise ValueError(f"{name}: is set by Duetime and cannot be overridden")
        if lower in checked:
            raise ValueError(f"{name}: is given twice")
        if not _VALUE.fullmatch(value):
            raise ValueError(
                f"{name}: the value holds a line break or another character that is not printable ASCII"
            )
        if len(value) > LONGEST_VALUE:
            raise ValueError(f"{name}: the value is longer than {LONGEST_VALUE} characters")
        checked[lower] = value.strip(" \t")
    return checked


def job_headers(job: JobContext) -> Headers:
    """What tells the receiver which job calls, and lets it do its work once."""
    headers = {
        "idempotency-key": header_safe(job.idempotency_key),
        "duetime-job-id": header_safe(job.id),
        "duetime-attempt": str(job.attempt),
        "duetime-fencing-token": str(job.fencing_token),
    }
    if job.nominal_time is not None:
        headers["duetime-nominal-time"] = format_instant(job.nominal_time)
    return headers


def header_safe(text: str) -> str:
    """`text` with everything but visible ASCII percent-encoded: the same text always gives the same value."""
    return quote(text, safe="!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def without_credentials(headers: Headers) -> Headers:
    """What of the payload's headers may be shown to an origin that the payload did not name."""
    return {name: value for name, value in headers.items() if name in _HARMLESS}
