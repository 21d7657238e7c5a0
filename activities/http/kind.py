"""The kind `http`: sends one request for a job and ends the job by the answer."""

import asyncio
import logging
import ssl
from collections.abc import Callable
from datetime import UTC, datetime

import httpx2

from activities.context import JobContext
from activities.http.answer import Answer, read_answer
from activities.http.headers import header_safe, job_headers
from activities.http.policy import AddressPolicy, AddressRefused
from activities.http.redirect import Hop, is_redirect, next_hop
from activities.http.request import HttpRequest
from activities.http.resolver import Resolver, SystemResolver
from activities.http.signing import Signer
from activities.http.target import BadUrl, parse_target
from activities.http.transport import Connector, PinnedTransport, connect
from activities.http.verdict import HttpTimeout, HttpUnreachable, conclude
from duetime.contracts.duration import format_duration
from duetime.outcomes import Reject

log = logging.getLogger(__name__)

_DEFAULT_HEADERS = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "user-agent": "Duetime",
    "connection": "close",
}


class HttpKind:
    """Holds what all requests of a worker share; `run` is the handler."""

    def __init__(
        self,
        policy: AddressPolicy,
        signer: Signer,
        *,
        resolve: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        connector: Connector = connect,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._policy, self._signer = policy, signer
        self._resolve = resolve or SystemResolver()
        self._tls = tls or httpx2.create_ssl_context()
        self._connector, self._now = connector, now

    async def run(self, request: HttpRequest, job: JobContext) -> dict[str, object]:
        """Sends an HTTP request, and tries again as the answer asks.

        Gives `Answer.as_result`. `Reject`, `RetryAfter` and `HttpFailed` by the verdict on it; `Reject` when the
        address is refused; `HttpUnreachable` and `HttpTimeout` when there was no whole answer.
        """
        hop = _first_hop(request)
        asked = f"{request.method} {hop.target}"
        try:
            async with asyncio.timeout(request.timeout.total_seconds()):
                answer = await self._exchange(hop, request, request.follow_redirects, job)
        except TimeoutError:
            raise HttpTimeout(f"{asked}: no whole answer within {format_duration(request.timeout)}") from None
        except AddressRefused as error:
            log.warning("job %s: refused to call %s: %s", job.id, error.address, error)
            raise Reject(str(error)) from None
        except (httpx2.TransportError, OSError) as error:
            raise HttpUnreachable(f"{asked}: {str(error)[:500] or type(error).__name__}") from error
        return conclude(request, answer, asked, self._now())

    async def _exchange(self, hop: Hop, request: HttpRequest, redirects: int, job: JobContext) -> Answer:
        """The last answer of the chain that begins with `hop`."""
        answer = await self._send(hop, job)
        locations = answer.values("location")
        wanted = request.succeeds(answer.status)
        if redirects == 0 or wanted or not is_redirect(answer.status) or len(locations) != 1:
            return answer
        try:
            onward = next_hop(hop, answer.status, locations[0])
        except BadUrl as error:
            raise Reject(f"redirect {answer.status} from {hop.target}: its location {error}") from None
        return await self._exchange(onward, request, redirects - 1, job)

    async def _send(self, hop: Hop, job: JobContext) -> Answer:
        headers = _DEFAULT_HEADERS | hop.headers | job_headers(job)
        headers |= self._signer.headers(header_safe(job.idempotency_key), self._now(), hop.body)
        message = httpx2.Request(hop.method, hop.target.url, headers=headers, content=hop.body.encode())
        async with PinnedTransport(self._policy, self._resolve, self._tls, self._connector) as transport:
            response = await transport.handle_async_request(message)
            try:
                return await read_answer(response)
            finally:
                await response.aclose()


def _first_hop(request: HttpRequest) -> Hop:
    body, content_type = request.content()
    headers = ({"content-type": content_type} if content_type else {}) | request.headers
    return Hop(parse_target(request.url), request.method, headers, body)
