"""Listeners of jobs, and of what is made of jobs: one poll for each, however many listen to it here.

A listener is woken when there is news and takes the job as it is by then, so that a slow one skips what has passed
meanwhile, and nothing piles up for it.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from temporalio.service import RPCError

from api.jobs.reading import Reader, no_such_job
from api.patience import answer_in_time
from api.problems import Problem, from_rpc, unavailable
from api.security.caller import ANYBODY, Caller
from duetime.contracts.events import KEEP_ALIVE, OPENING, Moment

log = logging.getLogger("duetime.api")


@dataclass(frozen=True)
class Pace:
    """Seconds between two looks at a job, between signs of life on a quiet stream, and how much at once.

    With the time that a look takes, listeners are less than two seconds behind.
    """

    poll: float = 1.0
    keep_alive: float = 15.0
    listeners: int = 1000
    jobs: int = 200


class News(Protocol):
    """What is listened to, as it was read at one time."""

    @property
    def id(self) -> str:
        """The same for readings between which there is nothing to tell."""

    @property
    def is_final(self) -> bool:
        """Whether nothing more will come."""

    def since(self, seen: str | None) -> bytes | None:
        """The event for whoever saw the event `seen` last; `None` when there is no news."""


class Watch:
    """The poll of one job. It ends with the job, or when nobody listens."""

    def __init__(self, read: Callable[[], Awaitable[News]], poll: float) -> None:
        self._read = read
        self._poll = poll
        self.listeners = 0
        #: Whether nothing more will come.
        self.is_over = False
        self.news = asyncio.Event()
        self._moment: News | None = None
        self._first: asyncio.Future[News] = asyncio.get_running_loop().create_future()
        self._first.add_done_callback(lambda first: first.cancelled() or first.exception())
        self._task = asyncio.create_task(self._run())

    @property
    def moment(self) -> News:
        """The job as it was read last."""
        assert self._moment is not None
        return self._moment

    async def first(self) -> None:
        """Returns when the job has been read; raises why it could not be."""
        await asyncio.shield(self._first)

    def stop(self) -> None:
        self._task.cancel()
        self._end()

    def _end(self) -> None:
        self.is_over = True
        self.news.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                if await self._look():
                    return
                await asyncio.sleep(max(0.0, began + self._poll - loop.time()))
        finally:
            self._end()

    async def _look(self) -> bool:
        """Reads the job; whether that was the last time."""
        try:
            moment = await self._read()
        except Problem as problem:
            if not self._first.done():
                self._first.set_exception(problem)
                return True
            # Temporal may be away for a while; a job that is gone has nothing more to tell.
            return problem.status == 404
        except Exception as error:
            log.exception("a job could not be read for its listeners")
            if not self._first.done():
                self._first.set_exception(error)
            return True
        self._tell(moment)
        return moment.is_final

    def _tell(self, moment: News) -> None:
        is_news = self._moment is not None and self._moment.id != moment.id
        self._moment = moment
        if not self._first.done():
            self._first.set_result(moment)
        if is_news:
            told, self.news = self.news, asyncio.Event()
            told.set()


class Listener:
    """One who listens, as long as `sees` says that they may see what was read. Must be closed."""

    def __init__(
        self, watch: Watch, keep_alive: float, leave: Callable[[], None], sees: Callable[[News], bool]
    ) -> None:
        self._watch = watch
        self._sees = sees
        self._keep_alive = keep_alive
        self._leave = leave
        self._is_closed = False

    @property
    def sees(self) -> bool:
        """Whether the caller may see the job, as it was read last."""
        return self._sees(self._watch.moment)

    def has_seen_the_end(self, seen: str | None) -> bool:
        moment = self._watch.moment
        return moment.is_final and moment.since(seen) is None

    async def events(self, seen: str | None) -> AsyncIterator[bytes]:
        """What is new to whoever saw the event `seen` last, until the job is final or this instance stops."""
        yield OPENING
        while True:
            # All at one moment: much may happen while a slow client takes an event.
            news, moment, is_over = self._watch.news, self._watch.moment, self._watch.is_over
            if not self._sees(moment):
                return  # another job has taken the id
            event = moment.since(seen)
            if event is not None:
                seen = moment.id
                yield event
            if moment.is_final or is_over:
                return
            try:
                async with asyncio.timeout(self._keep_alive):
                    await news.wait()
            except TimeoutError:
                yield KEEP_ALIVE

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._leave()


class Board(ABC):
    """All who listen to things of one sort at one API instance."""

    #: What is listened to.
    what: str

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._watches: dict[str, Watch] = {}
        self._listeners = 0
        self._is_closed = False

    @property
    def is_idle(self) -> bool:
        """Whether nobody listens, and nothing is polled."""
        return not self._watches and not self._listeners

    async def listen(self, key: str, caller: Caller = ANYBODY) -> Listener:
        """A listener, once the job has been read; a problem when that cannot be, or when too many listen here.

        What `caller` may not see is unknown.
        """
        if self._is_closed:
            raise unavailable("this instance stops; come back", "stopping")
        if self._listeners >= self._pace.listeners:
            raise _full(f"{self._pace.listeners:,} streams are open")
        watch = self._watch(key)
        watch.listeners += 1
        self._listeners += 1
        listener = Listener(
            watch,
            self._pace.keep_alive,
            lambda: self._leave(key, watch),
            lambda news: self._shows(news, caller),
        )
        try:
            await watch.first()
            if not listener.sees:
                raise self._unknown(key)
        except BaseException:
            listener.close()
            raise
        return listener

    def close(self) -> None:
        """Ends all streams, for good."""
        self._is_closed = True
        for watch in self._watches.values():
            watch.stop()

    def _watch(self, key: str) -> Watch:
        watch = self._watches.get(key)
        if watch is None or watch.is_over:
            if len(self._watches) >= self._pace.jobs:
                raise _full(f"{self._pace.jobs:,} {self.what} are listened to")
            watch = self._watches[key] = Watch(lambda: self._read_in_time(key), self._pace.poll)
        return watch

    async def _read_in_time(self, key: str) -> News:
        try:
            return await answer_in_time(self._read(key))
        except RPCError as error:
            raise from_rpc(error) from None

    @abstractmethod
    async def _read(self, key: str) -> News:
        """What there is under this id now; a problem when nothing is."""

    @abstractmethod
    def _shows(self, news: News, caller: Caller) -> bool:
        """Whether `caller` may see what was read."""

    @abstractmethod
    def _unknown(self, key: str) -> Problem:
        """What is said of an id that the caller does not know."""

    def _leave(self, key: str, watch: Watch) -> None:
        self._listeners -= 1
        watch.listeners -= 1
        if watch.listeners == 0:
            watch.stop()
            if self._watches.get(key) is watch:
                del self._watches[key]


class Hub(Board):
    """All who listen to jobs at one API instance."""

    what = "jobs"

    def __init__(self, reader: Reader, pace: Pace | None = None) -> None:
        super().__init__(pace)
        self._reader = reader

    async def _read(self, key: str) -> News:
        return Moment(await self._reader.job(key))

    def _shows(self, news: News, caller: Caller) -> bool:
        assert isinstance(news, Moment)
        return caller.may_see(news.job.kind, news.job.queue)

    def _unknown(self, key: str) -> Problem:
        return no_such_job(key)


def _full(what: str) -> Problem:
    return unavailable(
        f"{what} at this instance: poll instead, or try again later", "too_many_listeners", retry_after=10
    )
