"""`worker.py` as the fault suite runs it: its wall clock can be set wrong while it runs.

The file `clock-<pid>` in the suite's folder holds by how many seconds.
"""

import datetime
import os
import time
from pathlib import Path
from typing import Any

import worker
from duetime.process import run_main
from duetime.runtime import attempt, context

_FILE = Path(os.environ["FAULTS_FOLDER"]) / f"clock-{os.getpid()}"
_true_time = time.time


def wrong_by() -> float:
    try:
        return float(_FILE.read_text())
    except (OSError, ValueError):
        return 0.0


class WrongDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return datetime.datetime.now(tz) + datetime.timedelta(seconds=wrong_by())


def main() -> None:
    time.time = lambda: _true_time() + wrong_by()
    for module in (attempt, context):
        module.datetime = WrongDatetime  # type: ignore[misc]
    run_main(worker.main)


if __name__ == "__main__":
    main()
