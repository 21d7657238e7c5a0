"""What the built-in kinds need to know of the job they run for, and nothing more."""

from datetime import datetime
from typing import Protocol


class JobContext(Protocol):
    """The part of a handler's `job` that the built-in kinds pass on to receivers and commands."""

    @property
    def id(self) -> str: ...

    @property
    def attempt(self) -> int:
        """1 for the first try."""

    @property
    def fencing_token(self) -> int:
        """Grows with every attempt."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of the job."""

    @property
    def nominal_time(self) -> datetime | None:
        """The instant that a schedule's rule named, before jitter; `None` for other jobs."""
