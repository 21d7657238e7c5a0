"""Records that outlive whoever writes them: one line of JSON for each fact, on the disk before anybody goes on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from duetime.runtime import clock


class Journal:
    """Appends to a file of this process alone. `at` is the machine's time since its boot, alike for all processes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, event: str, **facts: Any) -> None:
        line = json.dumps({"event": event, "at": clock.now(), **facts}) + "\n"
        os.write(self._file, line.encode())
        os.fsync(self._file)


def read_journals(folder: Path, pattern: str) -> Iterator[dict[str, Any]]:
    """All lines of the files that match, each file in its order. A last line cut short by a kill is left out."""
    for path in sorted(folder.glob(pattern)):
        yield from map(json.loads, path.read_bytes().split(b"\n")[:-1])
