"""The clock that leases are measured by: seconds that pass for everybody, asleep or not."""

import time


def now() -> float:
    """Seconds since some moment. No step of the wall clock moves it, and a suspended machine does not stop it."""
    # CLOCK_MONOTONIC stands still while a machine is suspended (clock_gettime(2)); the lease does not.
    return _read()


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


_read = _boot_time if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
