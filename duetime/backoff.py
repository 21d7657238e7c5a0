"""How long to wait before the next attempt: one rule for the workflow and for the handler runtime."""

import math
from datetime import timedelta

from duetime.contracts.job import Retry


def retry_delay(retry: Retry, failures: int, chance: float) -> timedelta:
    """The wait after the `failures`-th failed attempt (1 for the first).

    `chance` in [0, 1) is the caller's random number; the wait is spread evenly over ± `jitter` of itself.
    The server's timers make it a second at least.

    >>> retry_delay(Retry(initial_interval="2s", jitter=0), failures=3, chance=0.5)
    datetime.timedelta(seconds=8)
    """
    first, longest = retry.initial_interval.total_seconds(), retry.max_interval.total_seconds()
    if first == 0:
        return timedelta(0)
    # In logarithms, since a power of a thousand failures is no float any more.
    exponent = math.log(first) + (failures - 1) * math.log(retry.backoff)
    seconds = longest if longest == 0 or exponent > math.log(longest) else math.exp(exponent)
    return timedelta(seconds=round(seconds * (1 + retry.jitter * (2 * chance - 1)), 6))
