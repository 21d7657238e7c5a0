"""What a person sees who runs several programs in one terminal: lines with the name of who wrote them."""

import contextlib
import os
import threading
from collections.abc import Mapping
from typing import TextIO

#: Colours of a terminal (ECMA-48 SGR) that read on dark and on light ground.
_COLOURS = {"api": "36", "worker": "32", "temporal": "35", "duetime": "1"}
_WIDTH = max(len(name) for name in _COLOURS)


class Console:
    """Writes whole lines, from any thread. Colour is for terminals, and not under https://no-color.org."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._colour = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        self._lock = threading.Lock()

    def line(self, name: str, text: str) -> None:
        """One line of a program."""
        self._write(f"{self._prefix(name)} {text}")

    def say(self, text: str) -> None:
        """Our own words, as they are."""
        self._write(text)

    def _prefix(self, name: str) -> str:
        prefix = f"{name:<{_WIDTH}} |"
        return f"\033[{_COLOURS.get(name, '0')}m{prefix}\033[0m" if self._colour else prefix

    def _write(self, text: str) -> None:
        # A reader that has gone away (`make run | head`) must not stop the work.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(text + "\n")
            self._stream.flush()
