"""Pin the newest versions that `pyproject.toml` allows into the two lock files, each line with its hashes.

Universal: one lock for every system and Python from 3.11. Neither the index's address nor a path of this
machine gets into a lock, so that anyone's index or mirror serves. `uv` resolves; nothing else needs it, so no
lock has it.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ("build", "service", "ledger", "postgres", "server")
UV = "uv>=0.9"
HOW = (
    "--quiet",
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--upgrade",
)


def main() -> None:
    """Write `requirements-dev.txt`, then `requirements.txt` at the same versions."""
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", UV], check=True)
    compile_lock("requirements-dev.txt", (*RUNTIME, "dev"))
    compile_lock("requirements.txt", RUNTIME, "--constraints=requirements-dev.txt")


def compile_lock(name: str, extras: tuple[str, ...], *more: str) -> None:
    """Resolve the project with `extras` into the file `name` in the project's root."""
    wanted = [f"--extra={extra}" for extra in extras]
    command = [sys.executable, "-m", "uv", "pip", "compile", *HOW, *wanted, *more, f"--output-file={name}"]
    subprocess.run([*command, "pyproject.toml"], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
