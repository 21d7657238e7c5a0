"""`FakeDuetime`: Duetime in memory, with a clock that tests turn."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any

from duetime.client import Client, SyncClient
from duetime.contracts.duration import Duration, parse_duration
from duetime.contracts.events import OPENING, Moment
from duetime.contracts.states import State
from duetime.contracts.view import JobView
from duetime.handlers import find_handlers
from duetime.testing.attempt import FakeAttempt
from duetime.testing.job import FakeJob
from duetime.testing.service import Service
from duetime.testing.web import Web
from duetime.testing.world import World

#: The attempt whose handler is running here, so that it may wait for other jobs while time passes.
_running: ContextVar[FakeAttempt | None] = ContextVar("duetime_fake_attempt", default=None)

#: Turns of the loop in which a handler that has just begun takes its first step.
_FIRST_STEPS = 10

_URL = "http://duetime.invalid"


class Stuck(AssertionError):
    """Something waits for a job that nothing can finish any more, until the test does something."""


class FakeDuetime:
    """Jobs in memory, run by real handlers in this process; time passes when the test says so, or waits for a job.

    >>> fake = FakeDuetime(now=datetime(2027, 1, 15, 9, tzinfo=UTC))
    >>> fake.register("my_app.handlers", queues=["mail"])  # doctest: +SKIP
    >>> async def test() -> None:
    ...     async with fake.client() as client:
    ...         await client.submit("reminder.send", {"to": "a@example.org"}, queue="mail", delay="1h")
    ...     await fake.advance("1h")

    Handlers take no time by the fake's clock: it stands still while any of them runs. All methods may be called from
    any thread and any event loop; handlers run in the loop of whoever lets time pass.
    """

    def __init__(self, *, now: datetime | None = None) -> None:
        if now is not None and now.utcoffset() is None:
            raise ValueError("now: give it a time zone")
        self._lock = threading.RLock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._world = World((now or datetime.now(UTC)).astimezone(UTC), self._wake)
        self._service = Service(self._world)
        self._web = Web(self)
        self._running: dict[FakeAttempt, asyncio.Task[None]] = {}

    @property
    def now(self) -> datetime:
        """The time by the fake's clock, in UTC."""
        return self._world.now

    def register(self, *handlers: Any, queues: list[str] | tuple[str, ...] = ("default",)) -> None:
        """A worker with these handlers (functions, modules, or names of modules) on these queues."""
        found = find_handlers(handlers)
        with self._lock:
            for queue in queues:
                self._world.queues.setdefault(queue, {}).update(found)
            self._wake()

    def client(self) -> Client:
        """A client whose API this is."""
        return Client(_URL, api_key="", transport=self._web)

    def sync_client(self) -> SyncClient:
        """A client without asyncio whose API this is."""
        return SyncClient(_URL, api_key="", transport=self._web)

    def job(self, job_id: str) -> JobView:
        """The job of this id, as it is; `NotFound` when there is none."""
        with self._lock:
            return self._service.view(self._service.job(job_id))

    def jobs(self, kind: str | None = None) -> list[JobView]:
        """All jobs, or those of one kind, in the order of their submission."""
        with self._lock:
            jobs = sorted(self._world.jobs.values(), key=lambda job: job.number)
            return [self._service.view(job) for job in jobs if kind is None or job.spec.kind == kind]

    # -- letting time pass --------------------------------------------------------------------------------

    async def run_due(self, until: datetime | None = None) -> None:
        """Runs what is due, and what becomes due by `until` (default: now), each at its time."""
        await self._drive(self.now if until is None else until, lambda: False)

    async def advance(self, span: Duration) -> None:
        """Lets `span` pass, and runs all that becomes due meanwhile, each at its time."""
        await self.run_due(self.now + parse_duration(span))

    async def finish(self, job_id: str) -> JobView:
        """Lets time pass until this job is final, and gives it. `Stuck` when nothing can make it so."""
        return await self._until(job_id, lambda job: not job.is_open)

    async def reach(self, job_id: str, state: State) -> JobView:
        """Lets time pass until this job is in `state`, `running` say. `Stuck` when nothing can bring it there."""
        return await self._until(job_id, lambda job: job.state(self.now) is state)

    async def _until(self, job_id: str, there: Callable[[FakeJob], bool]) -> JobView:
        with self._lock:
            job = self._service.job(job_id)
        await self._drive(None, lambda: there(self._service.job(job_id)), job)
        return self.job(job_id)

    async def wait(self, job_id: str, span: timedelta) -> tuple[JobView, bool]:
        """The job and whether it is final, once it is or `span` has passed: what a long poll of the API does.

        Waiting is what lets time pass for code under test. While a handler runs it is real time that passes.
        """
        with self._lock:
            job = self._service.job(job_id)
        if job.is_open and span > timedelta(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(span.total_seconds()):
                    await self._drive(self.now + span, lambda: not job.is_open, job)
        return self.job(job_id), not job.is_open

    async def _drive(
        self, until: datetime | None, done: Callable[[], bool], awaited: FakeJob | None = None
    ) -> None:
        """Runs what is due and moves the clock on, until `done`, or until the clock is at `until` and nothing runs."""
        me = _running.get()
        if me is not None:
            me.waits += 1
        woken = asyncio.Event()
        waiting = (asyncio.get_running_loop(), woken)
        self._waiting.add(waiting)
        try:
            while True:
                with self._lock:
                    woken.clear()
                    for job, attempt in self._world.due():
                        self._running[attempt] = asyncio.ensure_future(self._run(job, attempt))
                    step = _Step.RETURN if done() else self._next_step(until, me)
                    if step is _Step.MOVE_ON:
                        self._world.now = max(self.now, self._world.next_event() or self.now)
                    elif step is _Step.RETURN and not done():
                        self._arrive(until, awaited)
                if step is _Step.RETURN:
                    break
                # Time that moves lets others have a look, too.
                await (woken.wait() if step is _Step.WAIT else asyncio.sleep(0))
            for _ in range(_FIRST_STEPS if self._running else 0):
                await asyncio.sleep(0)
        finally:
            self._waiting.discard(waiting)
            if me is not None:
                me.waits -= 1

    def _next_step(self, until: datetime | None, me: FakeAttempt | None) -> "_Step":
        """What is next. The clock stands still while a handler runs, unless it waits for other jobs itself."""
        if any(attempt.waits == 0 for attempt in self._running):
            return _Step.WAIT
        event = self._world.next_event()
        if event is not None and (until is None or event <= until):
            return _Step.MOVE_ON
        others = self._running.keys() - {me}
        return _Step.WAIT if others and me is None else _Step.RETURN

    def _arrive(self, until: datetime | None, awaited: FakeJob | None) -> None:
        """Nothing happens up to `until` any more."""
        if self._world.next_event() is None and (until is None or awaited is not None):
            raise Stuck(_why_stuck(awaited, self._world) if awaited else "nothing is left that could happen")
        if until is not None:
            self._world.now = max(self.now, until)

    async def _run(self, job: FakeJob, attempt: FakeAttempt) -> None:
        _running.set(attempt)
        try:
            answer = await attempt.run(lambda: self.now)
        except BaseException as error:
            with self._lock:
                self._world.attempt_raised(job, attempt, error)
        else:
            with self._lock:
                self._world.attempt_returned(job, attempt, answer)
        finally:
            with self._lock:
                del self._running[attempt]
                self._wake()

    async def news(self, job_id: str, seen: str | None) -> AsyncGenerator[bytes]:
        """The events of a job as Server-Sent Events; time passes while they are waited for."""
        yield OPENING
        while True:
            moment = Moment(self.job(job_id))
            event = moment.since(seen)
            if event is not None:
                seen = moment.id
                yield event
            if moment.is_final:
                return
            await self._until(job_id, self._is_news(moment.id))

    def _is_news(self, told: str) -> Callable[[FakeJob], bool]:
        return lambda job: Moment(self._service.view(job)).id != told

    # -- for the API --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[Service]:
        """The API's rules, with nobody else at work."""
        with self._lock:
            yield self._service

    def give_up_after(self, job_id: str, grace: timedelta) -> None:
        """Ends a job that is being cancelled, should its handler still run after `grace` of real time."""

        def give_up() -> None:
            with self._lock:
                if job.attempt is attempt and attempt is not None:
                    self._world.terminate(job, job.cancelling or "cancelled")

        with self._lock:
            job = self._service.job(job_id)
            attempt = job.attempt
        asyncio.get_running_loop().call_later(grace.total_seconds(), give_up)

    def _wake(self) -> None:
        for loop, woken in list(self._waiting):
            with contextlib.suppress(RuntimeError):  # its loop is closed
                loop.call_soon_threadsafe(woken.set)


class _Step(Enum):
    """What somebody does who lets time pass."""

    #: To the next event.
    MOVE_ON = auto()
    #: For a handler, or for whoever else lets time pass.
    WAIT = auto()
    RETURN = auto()


def _why_stuck(job: FakeJob, world: World) -> str:
    told = f"the job {job.id!r} is {job.state(world.now)}"
    if job.state(world.now) is State.WAITING:
        others = ", ".join(f"{name!r}" for name in job.predecessors.remaining)
        return f"{told} for {others}, which nothing can finish"
    if job.spec.queue not in world.queues:
        how = f'fake.register(…, queues=["{job.spec.queue}"])'
        return f"{told}, and no handler is registered on its queue {job.spec.queue!r}: {how}"
    return f"{told}, and nothing is left that could move it on: waiting for it would never end"
