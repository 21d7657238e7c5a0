"""Duetime for services: submit jobs, write handlers, run them. What can go wrong is in `duetime.errors`.

Each name is imported when it is first used: a program that only submits jobs never loads the Temporal SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duetime.client import Client, Submitted, SyncClient
    from duetime.contracts.job import JobSpec, Retry
    from duetime.contracts.states import State
    from duetime.contracts.view import JobView
    from duetime.errors import DuetimeError
    from duetime.handlers import handler
    from duetime.outcomes import Reject, RetryAfter, Snooze
    from duetime.runtime.context import Job
    from duetime.runtime.execution import JobCancelled
    from duetime.worker import Worker

#: Where each name comes from: what type checkers read above.
_HOMES = {
    "Client": "duetime.client",
    "DuetimeError": "duetime.errors",
    "Job": "duetime.runtime.context",
    "JobCancelled": "duetime.runtime.execution",
    "JobSpec": "duetime.contracts.job",
    "JobView": "duetime.contracts.view",
    "Reject": "duetime.outcomes",
    "Retry": "duetime.contracts.job",
    "RetryAfter": "duetime.outcomes",
    "Snooze": "duetime.outcomes",
    "State": "duetime.contracts.states",
    "Submitted": "duetime.client",
    "SyncClient": "duetime.client",
    "Worker": "duetime.worker",
    "handler": "duetime.handlers",
}

__all__ = [
    "Client",
    "DuetimeError",
    "Job",
    "JobCancelled",
    "JobSpec",
    "JobView",
    "Reject",
    "Retry",
    "RetryAfter",
    "Snooze",
    "State",
    "Submitted",
    "SyncClient",
    "Worker",
    "errors",
    "handler",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("duetime.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
