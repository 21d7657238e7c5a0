"""Ports on the loopback: is one free, and which one is."""

import secrets
import socket

from duetime.engine.errors import PortTaken

LOOPBACK = "127.0.0.1"
#: Below what Linux (32768) and macOS (49152) hand out to outgoing connections. A client that keeps dialling
#: a dead server on one of *those* ports can be given it as its own end, is then connected to itself, and
#: the server that comes back finds its port taken.
_POOL = range(20_000, 32_000)


def require_free(port: int, purpose: str, way_out: str, *, host: str = LOOPBACK) -> None:
    """Raise `PortTaken` when `host`:`port` cannot be listened on."""
    try:
        _bind(port, host)
    except OSError as error:
        raise PortTaken(f"port {port} for {purpose} cannot be had ({error.strerror}): {way_out}") from None


def free_port(*besides: int | None) -> int:
    """A port that was free a moment ago, and none of `besides`, which nobody may listen on yet.

    Whoever listens on it must still be ready to find it taken.
    """
    for _ in range(100):
        port = _POOL[secrets.randbelow(len(_POOL))]
        if port in besides:
            continue
        try:
            _bind(port, LOOPBACK)
        except OSError:
            continue
        return port
    raise PortTaken(f"no free port between {_POOL.start} and {_POOL.stop} in a hundred tries")


def _bind(port: int, host: str) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        # As servers do: what a closed connection left in TIME_WAIT is no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
