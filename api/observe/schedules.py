"""How schedules stand, as metrics: their numbers are the server's own, so that every API instance shows the same."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, Metric

from api.observe.gauges import Gauge
from api.schedules.figures import Figures, Tally
from duetime.contracts.schedule_view import ScheduleState


@dataclass(frozen=True)
class Count:
    """A counter that somebody else counts; its shown name ends with `_total`."""

    name: str
    help: str
    of: Callable[[Figures], int]
    labels: tuple[str, ...] = ("schedule",)

    def family(self, figures: dict[str, Figures]) -> Metric:
        family = CounterMetricFamily(self.name, self.help, labels=self.labels)
        for schedule_id, known in figures.items():
            if known.server.exists:
                family.add_metric((schedule_id,), self.of(known))
        return family


SCHEDULES = Gauge("duetime_schedules", "Schedules by where they stand", ("state",))
LEFT_OUT = Gauge("duetime_schedules_left_out", "Schedules that the metrics by schedule leave out")
LAST_SUCCESS = Gauge(
    "duetime_schedule_last_success_timestamp_seconds",
    "When the last run that succeeded ended",
    ("schedule",),
)
GAUGES = (SCHEDULES, LEFT_OUT, LAST_SUCCESS)

COUNTS = (
    Count("duetime_schedule_fires_total", "Runs that the server started", lambda of: of.server.fired),
    Count(
        "duetime_schedule_missed_total",
        "Times that the server did not start by itself, made up or not",
        lambda of: of.server.missed + of.made_up_of_skipped,
    ),
    Count(
        "duetime_schedule_skipped_by_overlap_total",
        "Times that the server did not start for the sake of a run that was open, made up or not",
        lambda of: of.server.skipped,
    ),
)


class ScheduleMetrics:
    """A collector of one tally."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def collect(self) -> Iterator[Metric]:
        tally = self._tally
        yield SCHEDULES.family(((state.value,), float(tally.states.get(state, 0))) for state in ScheduleState)
        yield LEFT_OUT.family([((), float(tally.left_out))])
        for count in COUNTS:
            yield count.family(tally.figures)
        yield LAST_SUCCESS.family(
            ((schedule_id,), known.last_success.timestamp())
            for schedule_id, known in tally.figures.items()
            if known.last_success is not None
        )
