"""HTTP connections of a client: one pool for each event loop that it is used in."""

import asyncio
import platform
import ssl
import weakref

import httpx2

from duetime.client.address import Address

#: A host that drops packets must not take the whole deadline.
_CONNECT = 5.0
#: Servers and proxies may close what is idle for five seconds. We do first: no call meets a connection that closes.
_IDLE = 4.0


class Connections:
    """Hands out the pool of the running loop, made at its first use.

    So a client made at import time works in every `asyncio.run`, and in every process of a server that forks. Proxies
    and certificates of the environment (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`) count, except that nothing stands
    between us and our own machine.
    """

    def __init__(
        self,
        address: Address,
        tls: ssl.SSLContext | None,
        transport: httpx2.AsyncBaseTransport | None,
        trust_env: bool | None,
    ) -> None:
        self._address = address
        self._tls = tls
        self._transport = transport
        self._trust_env = not address.is_loopback if trust_env is None else trust_env
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    def pool(self) -> httpx2.AsyncClient:
        """The pool of the running loop."""
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None or pool.is_closed:
            pool = self._pools[loop] = self._make()
        return pool

    async def close(self) -> None:
        """Closes what the running loop has. A later call opens it anew."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    def _make(self) -> httpx2.AsyncClient:
        headers = {"Accept": "application/json", "User-Agent": f"duetime python/{platform.python_version()}"}
        if self._address.key is not None:
            headers["Authorization"] = f"Bearer {self._address.key.get_secret_value()}"
        return httpx2.AsyncClient(
            headers=headers,
            verify=self._trust(),
            transport=self._transport,
            trust_env=self._trust_env,
            timeout=httpx2.Timeout(None, connect=_CONNECT),
            limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_IDLE),
        )

    def _trust(self) -> ssl.SSLContext | bool:
        if self._tls is not None:
            return self._tls
        # Without TLS nobody is trusted: reading the machine's certificates takes longer than most calls.
        return True if self._address.is_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
