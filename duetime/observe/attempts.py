"""What a worker counts of the attempts that it runs.

An attempt that the server took back (a lost lease) is counted by the workflow, which also hears of those whose worker
is gone; see `workflows/meters.py`.
"""

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
        self._attempts = meter.create_counter(names.ATTEMPTS.name, names.ATTEMPTS.help)
        self._duration = meter.create_histogram_timedelta(
            names.ATTEMPT_DURATION.name, names.ATTEMPT_DURATION.help, "duration"
        )
        self._lateness = meter.create_histogram_timedelta(
            names.START_LATENESS.name, names.START_LATENESS.help, "duration"
        )
        self._stale = meter.create_counter(names.STALE_TOKENS.name, names.STALE_TOKENS.help)

    def began(self, kind: str, queue: str, late_by: timedelta) -> None:
        """The first attempt of a job began."""
        self._lateness.record(max(timedelta(0), late_by), {"kind": kind, "queue": queue})

    def ended(self, kind: str, queue: str, outcome: AttemptOutcome, after: timedelta) -> None:
        if outcome is AttemptOutcome.LEASE_LOST:
            return
        labels = {"kind": kind, "queue": queue, "outcome": outcome.value}
        self._attempts.add(1, labels)
        self._duration.record(after, labels)

    def raised(self, kind: str, queue: str, error: BaseException) -> None:
        """The handler ended by an error."""
        if _is_stale_token(error):
            self._stale.add(1, {"kind": kind, "queue": queue})


def _is_stale_token(error: Any) -> bool:
    """By name: the ledger is an extra, and need not be installed here."""
    return any(
        (base.__module__, base.__name__) == ("duetime.effects.errors", "StaleToken")
        for base in type(error).__mro__
    )
