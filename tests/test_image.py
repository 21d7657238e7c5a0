"""The container image: what the Dockerfile copies is enough to start what the Compose file starts from it."""

import fnmatch
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compose import OURS, ROOT, SERVICES

DOCKERFILE = (ROOT / "Dockerfile").read_text()
#: The image itself; the stages before it are thrown away.
LAST_STAGE = DOCKERFILE.rpartition("\nFROM ")[2]
IGNORE = (ROOT / ".dockerignore").read_text().splitlines()


def copied(stage: str) -> dict[str, str]:
    """What a stage copies from this directory, and where to."""
    pairs: dict[str, str] = {}
    for line in re.findall(r"^COPY (?!--from)(.+)$", stage, re.MULTILINE):
        *sources, target = line.split()
        pairs |= {source: f"{target}{source}" if target.endswith("/") else target for source in sources}
    return pairs


def is_sent(path: str) -> bool:
    """Whether a top-level path goes into the build: in `.dockerignore` the last line that matches decides."""
    patterns = [line for line in IGNORE if line and not line.startswith("#")]
    matching = [line for line in patterns if fnmatch.fnmatch(path, line.removeprefix("!"))]
    return not matching or matching[-1].startswith("!")


def test_the_build_is_sent_what_it_copies_and_no_more() -> None:
    named = set(copied(DOCKERFILE))
    assert {path for path in named if not is_sent(path)} == set()
    assert {line[1:] for line in IGNORE if line.startswith("!")} == named
    assert [path for path in (".env", ".git", ".venv", ".duetime", "tests") if is_sent(path)] == []


def test_what_is_installed_is_verified() -> None:
    installs = re.findall(r"pip install (.+)", DOCKERFILE)
    assert installs
    assert [
        line
        for line in installs
        if "--require-hashes" not in line and "--no-deps --no-build-isolation" not in line
    ] == []


def test_the_service_cannot_change_its_own_code() -> None:
    assert re.findall(r"^USER (\w+)$", LAST_STAGE, re.MULTILINE) == ["duetime"]
    assert LAST_STAGE.index("\nUSER ") > LAST_STAGE.rindex("\nCOPY "), "what is copied before belongs to root"


def test_the_health_check_of_the_api_is_a_program() -> None:
    (check,) = re.findall(r"^HEALTHCHECK .*\\\n\s+CMD (.+)$", LAST_STAGE, re.MULTILINE)
    program, flag, source = json.loads(check)
    assert (program, flag) == ("python", "-c")
    compile(source, "HEALTHCHECK", "exec")
    assert "/healthz" in source


#: Two instances of the API start alike.
COMMANDS = {" ".join(SERVICES[name]["command"]): SERVICES[name]["command"] for name in OURS}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_image_holds_all_that_its_commands_import(command: list[str], tmp_path: Path) -> None:
    program, *rest = command
    module = f"{rest[1]}.__main__" if rest[0] == "-m" else rest[0].removesuffix(".py")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not written yet")
    for source, target in copied(LAST_STAGE).items():
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, tmp_path / target)
        else:
            shutil.copy(ROOT / source, tmp_path / target)

    # This checkout is importable here, as an editable install: so look where everything came from.
    show = "import sys; print(*(getattr(m, '__file__', None) or '' for m in sys.modules.values()), sep='\\n')"
    loaded = python(tmp_path, "-c", f"import {module}; {show}").splitlines()
    foreign = [path for path in loaded if path.startswith(f"{ROOT}/") and not path.startswith(sys.prefix)]
    assert program == "python"
    assert str(tmp_path / module.replace(".", "/")) + ".py" in loaded
    assert foreign == []
    if rest[0] != "-m":
        assert "--queues" in python(tmp_path, *rest, "--help")


def python(directory: Path, *arguments: str) -> str:
    """What a Python that starts in `directory` prints; it must succeed."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(directory)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
