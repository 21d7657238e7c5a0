"""The metrics of a worker: what each is called and counts. `docs/metrics.md` lists them; a test holds it to this.

They go through the meter of the SDK, so that they come out wherever a process sends the SDK's own metrics. It adds the
labels `namespace` and `task_queue`, and to every counter the suffix `_total`, to every duration `_seconds`.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """One metric. `name` is as given to the meter, `shown` as Prometheus reads it."""

    name: str
    help: str
    type: Literal["counter", "histogram"]
    labels: tuple[str, ...]
    #: Upper bounds in seconds.
    buckets: tuple[float, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.name}_total" if self.type == "counter" else f"{self.name}_seconds"


ATTEMPTS = Metric(
    "duetime_attempts", "Attempts that ended, by how they ended", "counter", ("kind", "queue", "outcome")
)
ATTEMPT_DURATION = Metric(
    "duetime_attempt_duration",
    "How long attempts ran, by how they ended",
    "histogram",
    ("kind", "queue", "outcome"),
    (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600),
)
START_LATENESS = Metric(
    "duetime_start_lateness",
    "How long after its due time a job's first attempt began",
    "histogram",
    ("kind", "queue"),
    (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600),
)
STALE_TOKENS = Metric(
    "duetime_stale_tokens_refused",
    "Writes with an old fencing token that the effect ledger refused to a handler",
    "counter",
    ("kind", "queue"),
)
LEASES_LOST = Metric(
    "duetime_leases_lost", "Attempts whose worker was not heard of any more", "counter", ("kind", "queue")
)
JOBS_FINISHED = Metric(
    "duetime_jobs_finished",
    "Jobs that their workflow brought to an end, by the final state",
    "counter",
    ("kind", "queue", "outcome"),
)

INCIDENTS = Metric(
    "duetime_worker_incidents", "What should be rare with leases and results", "counter", ("incident",)
)

ALL = (ATTEMPTS, ATTEMPT_DURATION, START_LATENESS, STALE_TOKENS, LEASES_LOST, JOBS_FINISHED, INCIDENTS)

BUCKETS = {metric.name: metric.buckets for metric in ALL if metric.buckets}
