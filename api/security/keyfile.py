"""The file that keeps the keys: JSON, hashes alone; read again when it changes, and written in one step.

A file that turns out broken, or away, leaves the last good one in force, and the log says so until it is mended.
"""

import contextlib
import logging
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from api.security.keys import KeyRing
from api.security.moderation import Seldom
from duetime.contracts.explain import explain

log = logging.getLogger("duetime.security")

#: More than anybody's keys, and less than what would hold up the calls between which it is read.
_LARGEST = 4 * 1024 * 1024
#: Seconds between two complaints about the same broken file.
_AGAIN = 60.0

#: Inode, size and the times of change; `None` for a file that is not there.
_Version = tuple[int, int, int, int] | None


class KeyFileError(Exception):
    """The file cannot be used. Says what is wrong and where, and shows nothing of what is in it."""


class KeyFile:
    """The keys in `path`, now. Raises `KeyFileError` when they cannot be read to begin with."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock
        self._version = _version_of(path)
        self._ring = read_ring(path)
        self._trouble: tuple[KeyFileError, Seldom] | None = None
        warn_of_mode(path)

    @property
    def ring(self) -> KeyRing:
        """The keys in force: a look at the file's times, and a reading when they changed."""
        version = _version_of(self.path)
        if version != self._version:
            self._version = version
            self._read()
        if self._trouble is not None:
            error, seldom = self._trouble
            if seldom.turn():
                log.error("%s: the keys read before stay in force, and no change is seen", error)
        return self._ring

    def _read(self) -> None:
        try:
            self._ring = read_ring(self.path)
        except KeyFileError as error:
            self._trouble = error, Seldom(_AGAIN, self._clock)
            return
        self._trouble = None
        log.info("read the keys in %s again: %d", self.path, len(self._ring.keys))
        warn_of_mode(self.path)


def read_ring(path: Path) -> KeyRing:
    """The keys in a file; `KeyFileError` when it is away, too large or broken."""
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1)
    except OSError as error:
        raise KeyFileError(f"the keys file {path} cannot be read: {error.strerror}") from None
    if len(text) > _LARGEST:
        raise KeyFileError(f"the keys file {path} is larger than {_LARGEST:,} bytes")
    try:
        return KeyRing.model_validate_json(text)
    except ValidationError as error:
        faults = [f"{fault['pointer'] or '/'} {fault['message']}" for fault in explain(error)[:5]]
        raise KeyFileError(f"the keys file {path} is broken: {'; '.join(faults)}") from None


def edit_ring(path: Path, change: Callable[[KeyRing], KeyRing], *, create: bool = False) -> None:
    """Replaces the keys in `path` by what `change` makes of them, one editor at a time.

    With `create`, a file that is not there begins empty, and so does its directory, which is its owner's alone. Its
    owner stays, and its mode becomes 0600.
    """
    path = path.resolve()  # a link stays one
    if create:
        with contextlib.suppress(OSError):  # that it is not there is told below
            path.parent.mkdir(mode=0o700, exist_ok=True)
    with _alone(path.parent):
        new = create and not path.exists()
        ring = change(KeyRing() if new else read_ring(path))
        _replace(path, ring.model_dump_json(indent=2, exclude_none=True) + "\n")


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Holds the directory's lock (flock(2)): the file itself is another one after each writing."""
    import fcntl

    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise KeyFileError(f"the directory {directory} cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: Path, text: str) -> None:
    """Whoever reads sees the old file or the new one, also after the power went away."""
    try:
        descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # of mode 0600
        try:
            with open(descriptor, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            if path.exists():
                # The owner stays when root edits what the service must go on reading.
                was = path.stat()
                with contextlib.suppress(PermissionError):
                    os.chown(draft, was.st_uid, was.st_gid)
            os.replace(draft, path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise KeyFileError(f"the keys file {path} cannot be written: {error.strerror}") from None


def warn_of_mode(path: Path) -> None:
    """Hashes open no door, but whoever may write the file can add a key of their own."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o022:
            log.warning(
                "others may write the keys file %s (%04o), and so let anybody in: chmod 600", path, mode
            )
        elif mode & 0o044:
            log.warning("others may read the keys file %s (%04o): chmod 600", path, mode)


def _version_of(path: Path) -> _Version:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
