"""How queues stand, as gauges: the same look that `GET /v1/queues` takes, some seconds old at most."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric

from api.queues.board import Sight
from api.queues.buckets import Bucket
from api.queues.views import queue_list
from duetime.contracts.queues import Health, QueueView
from duetime.contracts.schedule_view import ScheduleState


@dataclass(frozen=True)
class Gauge:
    """One gauge: what it shows, by what."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    def family(self, samples: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
        family = GaugeMetricFamily(self.name, self.help, labels=self.labels)
        for labels, value in samples:
            family.add_metric(labels, value)
        return family


UP = Gauge("duetime_temporal_up", "Whether the Temporal server told what the other gauges show")
JOBS = Gauge("duetime_backlog_jobs", "Open jobs by where they are", ("queue", "place"))
OLDEST = Gauge(
    "duetime_backlog_oldest_age_seconds",
    "For how long the job that waits longest could have run",
    ("queue",),
)
APPROXIMATE = Gauge("duetime_backlog_approximate", "Whether there were too many due jobs to look at each")
TAKEN_AT = Gauge("duetime_backlog_taken_timestamp_seconds", "When this look was taken")
HEALTH = Gauge("duetime_queue_health", "1 for the one word on how a queue stands", ("queue", "health"))
WORKERS = Gauge("duetime_queue_workers", "Workers of a queue that live", ("queue",))
SLOTS = Gauge("duetime_queue_slots", "Attempts that the workers of a queue run at once", ("queue",))
BUSY = Gauge("duetime_queue_slots_busy", "Attempts that the workers of a queue run now", ("queue",))
PAUSED = Gauge("duetime_queue_paused", "Whether a queue is paused", ("queue",))
RATE = Gauge(
    "duetime_queue_rate_limit", "Starts a second that a queue allows, where it has a limit", ("queue",)
)
SCHEDULES = Gauge("duetime_schedules", "Schedules by where they stand", ("state",))
ORCHESTRATORS = Gauge("duetime_orchestrators", "Workers that run the workflows and live")

ALL = (
    UP,
    JOBS,
    OLDEST,
    APPROXIMATE,
    TAKEN_AT,
    HEALTH,
    WORKERS,
    SLOTS,
    BUSY,
    PAUSED,
    RATE,
    ORCHESTRATORS,
    SCHEDULES,
)


class Gauges:
    """A collector of what was seen; of nothing but `duetime_temporal_up` when the server could not be asked."""

    def __init__(self, sight: Sight | None, schedules: Mapping[ScheduleState, int] | None = None) -> None:
        self._sight = sight
        self._schedules = schedules

    def collect(self) -> Iterator[Metric]:
        yield UP.family([((), float(self._sight is not None))])
        if self._sight is None:
            return
        seen, census = queue_list(self._sight), self._sight.census
        yield APPROXIMATE.family([((), float(not census.is_exact))])
        yield TAKEN_AT.family([((), census.taken_at.timestamp())])
        yield ORCHESTRATORS.family([((), float(len(seen.orchestration.workers)))])
        yield from _of_queues(seen.queues)
        if self._schedules is not None:
            yield SCHEDULES.family(
                ((state.value,), float(self._schedules.get(state, 0))) for state in ScheduleState
            )


def _of_queues(queues: list[QueueView]) -> Iterator[Metric]:
    yield JOBS.family(
        ((queue.name, bucket.value), float(getattr(queue.jobs, bucket.value)))
        for queue in queues
        for bucket in Bucket
    )
    yield OLDEST.family(
        ((queue.name,), queue.oldest_age.total_seconds() if queue.oldest_age else 0.0) for queue in queues
    )
    yield HEALTH.family(
        ((queue.name, health.value), float(queue.health is health)) for queue in queues for health in Health
    )
    yield WORKERS.family(((queue.name,), float(len(queue.workers))) for queue in queues)
    yield SLOTS.family(((queue.name,), float(queue.slots)) for queue in queues if queue.slots is not None)
    yield BUSY.family(((queue.name,), float(queue.busy)) for queue in queues if queue.busy is not None)
    yield PAUSED.family(((queue.name,), float(queue.pause is not None)) for queue in queues)
    yield RATE.family(((queue.name,), queue.rate.per_second) for queue in queues if queue.rate)
