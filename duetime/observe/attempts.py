"""What a worker counts of the attempts that it runs.

An attempt that the server took back (a lost lease) is counted by the workflow, which also hears of those whose worker
is gone; see `workflows/meters.py`.
"""

import time
from datetime import timedelta
from typing import Any

from temporalio.common import MetricMeter
from temporalio.runtime import Runtime
from temporalio.service import ServiceClient

from duetime.contracts.states import AttemptOutcome
from duetime.observe import names


def meter_of(service: ServiceClient) -> MetricMeter:
    """The meter of the runtime that this connection is on."""
    return (service.config.runtime or Runtime.default()).metric_meter


class AttemptMeter:
    """Counts attempts. One for each worker."""

    def __init__(self, meter: MetricMeter) -> None:
        self.attempts = meter.create_counter(names.ATTEMPTS.name, names.ATTEMPTS.help)
        self.duration = meter.create_histogram_timedelta(
            names.ATTEMPT_DURATION.name, names.ATTEMPT_DURATION.help, "duration"
        )
        self.lateness = meter.create_histogram_timedelta(
            names.START_LATENESS.name, names.START_LATENESS.help, "duration"
        )
        self.stale = meter.create_counter(names.STALE_TOKENS.name, names.STALE_TOKENS.help)
        self._incidents = meter.create_counter(names.INCIDENTS.name, names.INCIDENTS.help)

    def happened(self, incident: str) -> None:
        """Something that should be rare; see `duetime.runtime.counters`."""
        self._incidents.add(1, {"incident": incident})

    def of(self, kind: str, queue: str, late_by: timedelta | None) -> "OneAttempt":
        """For one attempt, which began now; `late_by` when it is the job's first."""
        return OneAttempt(self, {"kind": kind, "queue": queue}, late_by)


class OneAttempt:
    """Counts one attempt."""

    def __init__(self, meter: AttemptMeter, labels: dict[str, str], late_by: timedelta | None) -> None:
        self._meter, self._labels, self._late_by = meter, labels, late_by
        self._begun = time.monotonic()

    def began(self) -> None:
        """It is the current one, and runs."""
        if self._late_by is not None:
            self._meter.lateness.record(max(timedelta(0), self._late_by), self._labels)

    def raised(self, error: BaseException) -> None:
        """The handler ended by an error."""
        if _is_stale_token(error):
            self._meter.stale.add(1, self._labels)

    def ended(self, outcome: AttemptOutcome) -> None:
        if outcome is AttemptOutcome.LEASE_LOST:
            return
        labels = self._labels | {"outcome": outcome.value}
        self._meter.attempts.add(1, labels)
        self._meter.duration.record(timedelta(seconds=time.monotonic() - self._begun), labels)


def _is_stale_token(error: Any) -> bool:
    """By name: the ledger is an extra, and need not be installed here."""
    return any(
        (base.__module__, base.__name__) == ("duetime.effects.errors", "StaleToken")
        for base in type(error).__mro__
    )
