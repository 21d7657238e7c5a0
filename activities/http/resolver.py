"""Names to addresses, once per connection: the answer is judged, then connected to without asking again."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from activities.http.addresses import Address

#: Gives the addresses of a host name in the order in which they should be tried; `OSError` when it has none.
Resolver = Callable[[str, int], Awaitable[Sequence[Address]]]


class SystemResolver:
    """The operating system's resolver (getaddrinfo(3): hosts file, DNS, the order of RFC 6724).

    It has threads of its own: getaddrinfo cannot be interrupted, and names whose servers do not answer must
    not use up the threads that everything else in the worker shares.
    """

    def __init__(self, threads: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="duetime-resolver")

    async def __call__(self, host: str, port: int) -> Sequence[Address]:
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
        )
        return list(dict.fromkeys(ip_address(sockaddr[0]) for _, _, _, _, sockaddr in found))
