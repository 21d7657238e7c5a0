"""`Worker`: runs handlers in any Python service, one poller of activities for each queue."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from temporalio import activity
from temporalio.client import Client
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from duetime.contracts.job import Queue
from duetime.contracts.record import Assignment, Sign, read_sign
from duetime.contracts.wording import sentence_of
from duetime.handlers import Handler, find_handlers
from duetime.observe.attempts import AttemptMeter, meter_of
from duetime.registry import announce_patiently, entries_of
from duetime.runtime.attempt import AttemptRun, Tools
from duetime.runtime.counters import Counters
from duetime.runtime.draining import let_polls_return
from duetime.runtime.poller import Poller
from duetime.runtime.stopping import Stop
from duetime.runtime.watch import LoopWatch

log = logging.getLogger("duetime.worker")


_QUEUE: TypeAdapter[str] = TypeAdapter(Queue)


def names_of_queues(names: Iterable[str]) -> list[str]:
    """The queues to serve, each once; `ValueError` tells which name cannot be, since no job could ever come to it, or
    since it is the one of the workflows, whose tasks a worker for handlers would take away."""
    found = list(dict.fromkeys(names))
    if not found:
        raise ValueError("name one at least")
    for name in found:
        try:
            _QUEUE.validate_python(name)
        except ValidationError as error:
            raise ValueError(f"{name!r}: {sentence_of(error.errors()[0])}") from None
    return found


class Worker:
    """Polls `queues` and runs the handlers found in `handlers` (functions, modules, or module names).

    `concurrency` is how many attempts run at once on each queue. On leaving, it stops taking work, lets running
    handlers finish for `grace`, then stops them and gives their attempts back (`interrupted`, no attempt used).
    `ValueError` for a queue that cannot be.

    >>> async with Worker(client, [my.handlers], queues=["mail"]):
    ...     await stop_signal
    """

    def __init__(
        self,
        client: Client,
        handlers: Iterable[Any] | Mapping[str, Handler],
        *,
        queues: Sequence[str] = ("default",),
        concurrency: int = 20,
        grace: timedelta = timedelta(seconds=30),
    ) -> None:
        self.handlers = dict(handlers) if isinstance(handlers, Mapping) else find_handlers(handlers)
        try:
            self.queues = names_of_queues(queues)
        except ValueError as error:
            raise ValueError(f"queues: {error}") from None
        identity = client.service_client.config.identity or client.identity
        meter = AttemptMeter(meter_of(client.service_client))
        self._tools = tools = Tools(client, identity, meter, counters=Counters(on_add=meter.happened))
        activities = [as_activity(handler, tools) for handler in self.handlers.values()]
        let_polls_return(grace)
        self._workers = [
            Poller(
                client,
                task_queue=queue,
                activities=[*activities, give_back],
                max_concurrent_activities=concurrency,
                max_concurrent_activity_task_polls=2,
                graceful_shutdown_timeout=grace,
            )
            for queue in self.queues
        ]
        self._client = client
        self._grace = grace
        self._running = AsyncExitStack()

    @property
    def counters(self) -> Counters:
        """What it counted so far of leases lost, results refused and the like."""
        return self._tools.counters

    async def __aenter__(self) -> "Worker":
        keeper = self._tools.keeper
        keeper.start()
        self._running.push_async_callback(keeper.stop)
        watching = keeper.run(LoopWatch(lambda: list(self._tools.running), self.counters).watch())
        self._running.callback(watching.cancel)
        for worker in self._workers:
            await self._running.enter_async_context(worker)
        entries = entries_of(self.handlers.values(), self.queues)
        self._announcing = asyncio.ensure_future(announce_patiently(self._client, entries))
        log.info("serving %s on %s", ", ".join(sorted(self.handlers)) or "nothing", ", ".join(self.queues))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._announcing.cancel()
        grace = asyncio.ensure_future(self._end_of_grace())
        try:
            await asyncio.gather(*(worker.shutdown() for worker in self._workers))
        finally:
            grace.cancel()
            await self._running.__aexit__(kind, error, trace)
            if counted := ", ".join(
                f"{name} {count}" for name, count in self.counters.snapshot().items() if count
            ):
                log.info("counted: %s", counted)

    async def _end_of_grace(self) -> None:
        """The SDK tells its activities too, but only those that it has told nothing else before."""
        await asyncio.sleep(self._grace.total_seconds())
        self._tools.keeper.call(self._tools.ending.set)
        for attempt in list(self._tools.running):
            attempt.lease.stop(Stop.SHUTDOWN)


def as_activity(handler: Handler, tools: Tools) -> Any:
    """The activity, named like the kind, that wraps `handler`: two JSON arguments, payload and job."""

    async def attempt(payload: Any, job: Any = None) -> Any:
        if not isinstance(job, dict):
            raise ApplicationError(
                f"start this through a Job workflow: {handler.kind!r} needs the job as its second argument",
                type="NoJob",
                non_retryable=True,
            )
        await AttemptRun(handler, Assignment.model_validate(job), tools).carry(payload)
        activity.raise_complete_async()

    return activity.defn(name=handler.kind)(attempt)


@activity.defn(dynamic=True)
async def give_back(arguments: Sequence[RawValue]) -> Any:
    """A kind that this worker has no handler for: back to the workflow, at no cost."""
    info = activity.info()
    known = read_sign(info.heartbeat_details) or Sign()
    raise ApplicationError(
        f"the worker that took it has no handler for {info.activity_type!r}",
        Sign(record=known.record, no_handler=True).compact(),
        type="NoHandler",
        non_retryable=True,
        category=ApplicationErrorCategory.BENIGN,
    )
