"""A transport that connects to the address that was judged, whatever the name resolves to a moment later.

The name is resolved once, all its addresses are judged, and the connection is made to one of them by number;
the name stays in the `Host` header, in the TLS server name and in the certificate check. Proxies of the
environment are not used: they would resolve the name again. Every request has a connection of its own,
because a pool keyed by address would hand a connection that was checked for one name to another.
"""

import ssl
from collections.abc import Callable

import httpx2

from activities.http.policy import AddressPolicy
from activities.http.resolver import Resolver
from activities.http.target import parse_target

#: How long one address may take to connect before the next one is tried, in seconds.
CONNECT_SECONDS = 10.0
#: How many addresses of a name are tried.
MOST_ADDRESSES = 4

#: Makes the transport of one connection; a test gives one that counts.
Connector = Callable[[ssl.SSLContext], httpx2.AsyncBaseTransport]


def connect(tls: ssl.SSLContext) -> httpx2.AsyncBaseTransport:
    return httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, retries=0)


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Sends one request.

    `AddressRefused` when the policy says so, `OSError` when the name is unknown: nothing was sent then. The
    errors of httpx2 for the rest.
    """

    def __init__(
        self, policy: AddressPolicy, resolve: Resolver, tls: ssl.SSLContext, connector: Connector = connect
    ) -> None:
        self._policy, self._resolve, self._tls = policy, resolve, tls
        self._connector = connector
        self._open: httpx2.AsyncBaseTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target = parse_target(str(request.url))
        literal = target.address
        addresses = [literal] if literal else await self._resolve(target.host, target.port)
        self._policy.vet(target, addresses)
        request.extensions = {
            **request.extensions,
            "sni_hostname": target.host,
            "timeout": {"connect": CONNECT_SECONDS, "read": None, "write": None, "pool": None},
        }
        failure: httpx2.TransportError = httpx2.ConnectError(f"{target.host} has no address")
        for address in addresses[:MOST_ADDRESSES]:
            # The `Host` header was set from the name when the request was made, and stays.
            request.url = target.url.copy_with(host=str(address))
            self._open = self._connector(self._tls)
            try:
                return await self._open.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error  # nothing was sent yet, so the next address may be tried
                await self._open.aclose()
        raise failure

    async def aclose(self) -> None:
        if self._open is not None:
            await self._open.aclose()
