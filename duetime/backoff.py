"""How long to wait before the next attempt: one rule for the workflow and for the handler runtime."""

from datetime import timedelta

from duetime.contracts.job import Retry


def retry_delay(retry: Retry, failures: int, chance: float) -> timedelta:
    """The wait after the `failures`-th failed attempt (1 for the first).

    `chance` in [0, 1) is the caller's random number; the wait is spread evenly over ± `jitter` of itself.
    The server's timers make it a second at least.

    >>> retry_delay(Retry(initial_interval="2s", jitter=0), failures=3, chance=0.5)
    datetime.timedelta(seconds=8)
    """
    growth = retry.backoff ** min(failures - 1, 200) if retry.backoff > 1 else 1.0
    longest = retry.max_interval.total_seconds()
    seconds = min(retry.initial_interval.total_seconds() * growth, longest)
    return timedelta(seconds=seconds * (1 + retry.jitter * (2 * chance - 1)))
