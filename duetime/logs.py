"""Logs of a program: one line an event on standard error, with the job and attempt of what a handler says."""

import logging

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def set_up_logs(level: str) -> None:
    """Logs at `level` (`debug`, `info`, `warning`, `error`) for this whole process."""
    logging.basicConfig(level=level.upper(), format=_FORMAT)
    # The SDK tells every failed attempt once more, with a stack of its own frames; ours name the job.
    logging.getLogger("temporalio.activity").setLevel(logging.CRITICAL)
