"""How long a client may take on the wire, and how many may be there at once.

uvicorn times only the pause between two requests. So a client that sends its headers a byte at a time, never ends its
body, or never reads its answer keeps a connection for as long as it likes, and a thousand of them keep everybody else
out. `GuardedProtocol` gives each of these an end, and when all places are taken the one goes that was idle longest.

`python -m api` uses it; `uvicorn api.app:app --http api.security.connections:GuardedProtocol` does as well.
"""

import asyncio
import json
import logging
import sys
from http import HTTPStatus
from typing import Any, ClassVar, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.problems import MEDIA_TYPE, Problem
from api.security.moderation import Seldom

log = logging.getLogger("duetime.security")

Awaited = Literal["head", "body"]

#: What the rest of the process opens: the listener, the connections to Temporal, files read now and then.
_OTHER_FILES = 100


class GuardedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with an end to every wait for the client. Times are seconds."""

    #: From the first byte, or the connection's beginning, to the end of the headers.
    head_seconds: ClassVar[float] = 10.0
    #: From the end of the headers to that of the body. Longer than the app waits, which answers `408` first.
    body_seconds: ClassVar[float] = 35.0
    #: Between two looks at an answer that the client is slow to read, and the bytes it must take from one to the next.
    stall_seconds: ClassVar[float] = 15.0
    stall_bytes: ClassVar[int] = 8 * 1024
    #: Connections at once.
    places: ClassVar[int] = 1000

    _seldom: ClassVar[Seldom] = Seldom()

    _awaited: Awaited | None = None
    _deadline: asyncio.TimerHandle | None = None
    _idle_since = 0.0
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Any byte that the client has not taken pauses us, so that none is waited for without an end.
        transport.set_write_buffer_limits(high=0)
        self._idle_since = self.loop.time()
        self._await("head")
        if len(self.connections) > self.places:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._await(None)
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        theirs = self.conn.their_state
        self._await("head" if theirs is h11.IDLE else "body" if theirs is h11.SEND_BODY else None)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._idle_since = self.loop.time()
        if self.conn.their_state is not h11.SEND_BODY:
            self._await(None)  # uvicorn times the pause until the next request

    def _await(self, what: Awaited | None) -> None:
        """From now on the client owes us this; a deadline that runs already for the same goes on."""
        if what == self._awaited:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._awaited, self._deadline = what, None
        if what is not None:
            seconds = self.head_seconds if what == "head" else self.body_seconds
            self._deadline = self.loop.call_later(seconds, self._too_slow, what)

    def _too_slow(self, what: Awaited) -> None:
        if what == "head" and self._has_begun():
            self._refuse(Problem(408, "too-slow", "Too slow", "the headers did not come in time"))
        else:
            self.transport.abort()

    def _has_begun(self) -> bool:
        return bool(self.conn.trailing_data[0])

    # --- an answer that nobody reads ---

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_progress(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _watch_progress(self, size: int) -> None:
        self._look = self.loop.call_later(self.stall_seconds, self._look_again, size)

    def _look_again(self, before: int) -> None:
        now = self.transport.get_write_buffer_size()
        if before - now < min(before, self.stall_bytes):
            self.transport.abort()
        else:
            self._watch_progress(now)

    # --- more clients than places ---

    def _make_room(self) -> None:
        """Ends the connection that has been waiting longest for a request; without one, this."""
        idle = [
            other
            for other in self.connections
            if isinstance(other, GuardedProtocol) and other is not self and other.is_idle
        ]
        if skipped := self._seldom.turn():
            log.warning("all %d connections are taken (%d times in a while)", self.places, skipped)
        if idle:
            min(idle, key=lambda other: other._idle_since).transport.abort()
        else:
            headers = {"Retry-After": "1"}
            self._refuse(
                Problem(503, "busy", "Temporarily unavailable", "all connections are taken", headers=headers)
            )

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered: no request has come, or not yet all of its headers."""
        return self.conn.their_state is h11.IDLE and not self.transport.is_closing()

    # --- what cannot even be handed to the app ---

    def send_400_response(self, msg: str) -> None:
        """What h11 could not read; called where its error is being handled."""
        error = sys.exception()
        status = getattr(error, "error_status_hint", 400)
        if status == 431:
            self._refuse(Problem(431, "headers-too-large", "Request header fields too large", "over 16 KiB"))
        else:
            self._refuse(Problem(400, "malformed", "Malformed request", "this is not HTTP/1.1"))

    def _refuse(self, problem: Problem) -> None:
        """Answers for the app, where nothing has been answered yet, and ends the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_raw(problem))
        self.transport.close()


def _raw(problem: Problem) -> bytes:
    body = json.dumps(problem.body()).encode()
    headers: dict[str, Any] = {
        "Content-Type": MEDIA_TYPE,
        "Content-Length": len(body),
        "Connection": "close",
        **problem.headers,
    }
    lines = [f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def with_places(places: int) -> type[GuardedProtocol]:
    """The protocol for so many connections at once; fewer when the system lets this process open fewer files."""
    possible = _room_for(places + _OTHER_FILES) - _OTHER_FILES
    if possible < places:
        log.warning("only %d connections instead of %d: raise the limit of open files", possible, places)
    return type("PlacedProtocol", (GuardedProtocol,), {"places": max(1, min(places, possible))})


def _room_for(files: int) -> int:
    """How many files this process may open, after asking for `files`; the soft limit is often only 1,024."""
    if sys.platform == "win32":
        return files
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= files:
        return files
    wanted = files if hard == unlimited else min(files, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
