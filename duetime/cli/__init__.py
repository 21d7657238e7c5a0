"""The command `duetime`: jobs from the command line, over HTTP; and a worker for handlers."""

from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    from duetime.cli.main import run
    from duetime.process import exit_process

    exit_process(run())


__all__ = ["main"]
