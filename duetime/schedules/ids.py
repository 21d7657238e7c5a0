"""The ids of everything that belongs to a schedule. `~` keeps them apart from those that callers choose."""

from datetime import UTC, datetime

_SECONDS = "%Y-%m-%dT%H:%M:%SZ"


def entity_id(schedule_id: str) -> str:
    """The workflow that is the one writer of a schedule."""
    return f"duetime~schedule~{schedule_id}"


def action_id(schedule_id: str) -> str:
    """What the server begins the ids of a schedule's runs with; it adds `-` and the nominal time."""
    return f"{schedule_id}~"


def run_id(schedule_id: str, nominal: datetime) -> str:
    """The job or pipeline of one nominal time, whoever starts it.

    >>> run_id("nightly", datetime(2027, 1, 15, 8, tzinfo=UTC))
    'nightly~-2027-01-15T08:00:00Z'
    """
    return f"{action_id(schedule_id)}-{nominal.astimezone(UTC).strftime(_SECONDS)}"


def nominal_of(job_id: str, schedule_id: str) -> datetime | None:
    """The nominal time in the id of a schedule's run; `None` when it has none.

    >>> nominal_of("nightly~-2027-01-15T08:00:00Z", "nightly") == datetime(2027, 1, 15, 8, tzinfo=UTC)
    True
    """
    try:
        told = job_id.removeprefix(f"{action_id(schedule_id)}-")
        return datetime.strptime(told, _SECONDS).replace(tzinfo=UTC)
    except ValueError:
        return None


def longest_id(schedule_id: str) -> str:
    """An id as long as any that a run of the schedule may have."""
    return by_hand_id(schedule_id, "0" * 32)


def by_hand_id(schedule_id: str, unique: str) -> str:
    """A run beside the rule that shares its second with others."""
    return f"{action_id(schedule_id)}{unique}"
