"""Following a redirect: what the next request is, or that there is none (RFC 9110 section 15.4).

The next target goes through everything the first one went through. What the payload put into headers for one
origin is not shown to another, and a request that began under TLS does not go on without.
"""

from dataclasses import dataclass, replace

import httpx2

from activities.http.headers import Headers, without_credentials
from activities.http.target import BadUrl, Target, parse_target

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OF_THE_BODY = frozenset({"content-type", "content-language", "content-encoding"})


@dataclass(frozen=True)
class Hop:
    """One request of a chain. `headers` are those of the payload, not yet those of the job."""

    target: Target
    method: str
    headers: Headers
    body: str


def is_redirect(status: int) -> bool:
    return status in _REDIRECTS


def next_hop(hop: Hop, status: int, location: str) -> Hop:
    """The request that a redirect to `location` asks for; `BadUrl` when it leads where no request may go."""
    try:
        absolute = str(hop.target.url.join(location))
    except (httpx2.InvalidURL, ValueError) as error:
        raise BadUrl(str(error)) from None
    target = parse_target(absolute)
    if hop.target.scheme == "https" and target.scheme == "http":
        raise BadUrl("leads from https to http")
    onward = replace(hop, target=target)
    if target.origin != hop.target.origin:
        onward = replace(onward, headers=without_credentials(onward.headers))
    if hop.method != "HEAD" and (status == 303 or (status in (301, 302) and hop.method == "POST")):
        headers = {name: value for name, value in onward.headers.items() if name not in _OF_THE_BODY}
        onward = replace(onward, method="GET", body="", headers=headers)
    return onward
