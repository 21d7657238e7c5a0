"""Bring `.venv` up to what a lock file pins: `python3 scripts/venv.py requirements.txt`.

Only the standard library, and a syntax that old Pythons parse too, so that they can say what is wrong. Does
nothing when the environment already holds that lock; two calls at once wait for each other.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
OLDEST = (3, 11)
#: Every lock, the larger ones last: each holds all that those before it hold, at the same versions.
LOCKS = ("requirements.txt", "requirements-dev.txt")


def main(lock):
    """Create or update the environment for `lock`, a file name in the project's root."""
    if lock not in LOCKS:
        sys.exit("scripts/venv.py: %r is not a lock file; choose one of %s." % (lock, ", ".join(LOCKS)))
    check_python()
    with one_at_a_time():
        if is_current(lock):
            return
        create()
        install(lock)


def check_python():
    """Stop with the way out when this interpreter cannot run the project."""
    if sys.version_info[:2] < OLDEST:
        names = ["python3.%d" % minor for minor in range(14, OLDEST[1] - 1, -1)]
        found = next((name for name in names if shutil.which(name)), "python3.11")
        sys.exit(
            "Duetime needs Python %d.%d or newer; %s is %d.%d. Name a newer one: make run PYTHON=%s"
            % (*OLDEST, sys.executable, *sys.version_info[:2], found)
        )
    try:
        import ensurepip  # noqa: F401 (Debian ships it apart from Python)
    except ImportError:
        sys.exit(
            "%s cannot make virtual environments: its `ensurepip` is missing. On Debian and Ubuntu: "
            "apt-get install python%d.%d-venv" % (sys.executable, *sys.version_info[:2])
        )


@contextlib.contextmanager
def one_at_a_time():
    """Hold a lock beside the environment, so that two `make` at once do not install into each other."""
    with open(VENV + ".lock", "w") as file:
        try:
            import fcntl
        except ImportError:  # Windows: no such lock, and no embedded server either
            yield
            return
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_current(lock):
    """Whether the environment runs and holds `lock`, or a larger lock, as they read now."""
    wanted = LOCKS[LOCKS.index(lock) :]
    return any(read(stamp(name)) == digest(name) for name in wanted) and runs()


def create():
    """Make the environment, anew when the one that is there does not run (moved, or its Python is gone)."""
    if not runs():
        print("Creating .venv with %s" % sys.executable, flush=True)
        run(sys.executable, "-m", "venv", "--clear", VENV)


def install(lock):
    """Install what `lock` pins, each file checked against its hash, and the project itself, editable."""
    print("Installing what %s pins (once; about a minute)" % lock, flush=True)
    pip = (PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--require-hashes", "--requirement", os.path.join(ROOT, lock))
    run(*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    for name in LOCKS:
        with contextlib.suppress(FileNotFoundError):
            os.remove(stamp(name))
    with open(stamp(lock), "w") as file:
        file.write(digest(lock))


def run(*command):
    """Run `command`; when it fails, so do we, with its exit code (it has said why)."""
    code = subprocess.call(command)
    if code:
        sys.exit(code)


def runs():
    """Whether the environment's Python starts, is new enough, has pip, and knows itself to be here."""
    check = "import sys, pip; sys.exit(sys.prefix != %r or sys.version_info[:2] < %r)" % (VENV, OLDEST)
    try:
        return subprocess.call((PYTHON, "-c", check), stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def stamp(lock):
    """Path of the note which says that the environment holds `lock`."""
    return os.path.join(VENV, lock + ".sha256")


def digest(lock):
    """What was installed, in one word: the lock, and the metadata that the `duetime` command is made from."""
    text = read(os.path.join(ROOT, lock)) + read(os.path.join(ROOT, "pyproject.toml"))
    return hashlib.sha256(text.encode()).hexdigest()


def read(path):
    """The text of the file, empty when there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 scripts/venv.py <%s>" % " | ".join(LOCKS))
    main(sys.argv[1])
