"""Duetime for services: write handlers, run them, submit jobs."""

from duetime.handlers import handler
from duetime.outcomes import Reject, RetryAfter, Snooze
from duetime.runtime.context import Job
from duetime.runtime.execution import JobCancelled
from duetime.worker import Worker

__all__ = ["Job", "JobCancelled", "Reject", "RetryAfter", "Snooze", "Worker", "handler"]
