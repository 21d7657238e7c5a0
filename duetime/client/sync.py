"""`SyncClient`: the same client without `await`."""

from types import TracebackType
from typing import Self, Unpack

from duetime.client.client import Client, Options
from duetime.client.face import Face, each, now
from duetime.client.portal import Portal
from duetime.client.sync_pipelines import SyncPipelines
from duetime.client.sync_schedules import SyncSchedules


class SyncClient(Face[Client]):
    """`Client` for code without asyncio: the same arguments, methods, answers and exceptions.

    Safe to share between threads, and between processes that fork after it was made. Close it, or use it as a context.

    >>> with SyncClient() as client:  # doctest: +SKIP
    ...     client.run("report.build", {"region": "eu"}, wait="10m")
    """

    def __init__(self, url: str | None = None, **options: Unpack[Options]) -> None:
        super().__init__(Client(url, **options), Portal("duetime-client"))
        #: Jobs ordered by their needs.
        self.pipelines = SyncPipelines(self._client.pipelines, self._portal)
        #: Recurring rules.
        self.schedules = SyncSchedules(self._client.schedules, self._portal)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections and ends the private loop. A later call opens them anew."""
        self._portal.call(self._client.close())
        self._portal.stop()

    submit = now(Client.submit)
    submit_spec = now(Client.submit_spec)
    batch = now(Client.batch)
    run = now(Client.run)
    get = now(Client.get)
    result = now(Client.result)
    wait_for = now(Client.wait_for)
    jobs = each(Client.jobs)
    page = now(Client.page)
    count = now(Client.count)
    events = each(Client.events)
    kinds = now(Client.kinds)
    move = now(Client.move)
    run_now = now(Client.run_now)
    cancel = now(Client.cancel)
    retry = now(Client.retry)

    retry_many = now(Client.retry_many)
    cancel_many = now(Client.cancel_many)
    operation = now(Client.operation)
    operations = each(Client.operations)
    run_operation = now(Client.run_operation)
    stop_operation = now(Client.stop_operation)
    wait_for_operation = now(Client.wait_for_operation)

    queues = now(Client.queues)
    queue = now(Client.queue)
    pause_queue = now(Client.pause_queue)
    resume_queue = now(Client.resume_queue)
    set_queue_rate = now(Client.set_queue_rate)
    set_queue_concurrency = now(Client.set_queue_concurrency)
    backlog = now(Client.backlog)
    why = now(Client.why)
    doctor = now(Client.doctor)
