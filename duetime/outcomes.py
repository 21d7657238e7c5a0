"""The small closed vocabulary with which a handler steers its job, beside returning and raising.

=============  =============================================  ==================
raise          the job                                        costs an attempt
=============  =============================================  ==================
`Snooze`       runs again after `delay`                       no
`RetryAfter`   failed this time, next attempt after `delay`   yes
`Reject`       fails for good                                 it is the last one
=============  =============================================  ==================
"""

from datetime import timedelta

from duetime.contracts.duration import Duration, parse_duration


class Outcome(Exception):
    """Base of what a handler raises to steer its job."""


class Snooze(Outcome):
    """Not now: run again after `delay` (seconds, a `timedelta`, `"90s"`), at no cost."""

    def __init__(self, delay: Duration) -> None:
        self.delay: timedelta = parse_duration(delay)
        super().__init__(f"snoozed for {self.delay}")


class RetryAfter(Outcome):
    """This attempt failed; try again after `delay` instead of the job's own back-off."""

    def __init__(self, delay: Duration, message: str = "") -> None:
        self.delay: timedelta = parse_duration(delay)
        super().__init__(message or f"retry after {self.delay}")


class Reject(Outcome):
    """This job can never succeed: fail now, whatever attempts are left."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
