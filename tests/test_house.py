"""The house itself: locks, wheel, layers, and the one script that runs before anything is installed."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.source import tree_of

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.txt", "requirements-dev.txt")
PACKAGES = ("duetime", "activities", "workflows", "api")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def locked(name: str) -> dict[str, Requirement]:
    """The requirements of a lock file by canonical name; every one must carry hashes."""
    logical = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    found: dict[str, Requirement] = {}
    for line in logical:
        requirement, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
        assert hashes, f"{name}: no hash: {line}"
        assert all(re.fullmatch("[0-9a-f]{64}", value) for value in hashes), f"{name}: bad hash: {line}"
        parsed = Requirement(requirement)
        found[canonicalize_name(parsed.name)] = parsed
    return found


def modules(*packages: str) -> Iterator[tuple[Path, ast.Module]]:
    """Every module below `packages`, parsed."""
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT), tree_of(path)


def imported(tree: ast.Module) -> Iterator[str]:
    """Dotted names of what a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module}: write it out"
            yield str(node.module)


# --- locks ---


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_of_a_lock_is_pinned_to_one_version_and_hashed(name: str) -> None:
    assert [str(r) for r in locked(name).values() if [s.operator for s in r.specifier] != ["=="]] == []


def test_the_locks_agree() -> None:
    runtime, dev = (locked(name) for name in LOCKS)
    differing = {name for name, found in runtime.items() if str(dev.get(name)) != str(found)}
    assert differing == set()


@pytest.mark.parametrize("name", LOCKS)
def test_the_locks_hold_what_the_project_asks_for(name: str) -> None:
    """Fails when `pyproject.toml` was edited and `make lock` was not run."""
    extras = PROJECT["optional-dependencies"]
    wanted = list(PROJECT["dependencies"])
    for extra, requirements in extras.items():
        if extra != "dev" or name == "requirements-dev.txt":
            wanted += requirements
    found = locked(name)
    for text in wanted:
        asked = Requirement(text)
        (pin,) = found[canonicalize_name(asked.name)].specifier
        assert asked.specifier.contains(pin.version, prereleases=True), f"{text} is locked at {pin.version}"


# --- what is in the repository ---


def tracked() -> list[Path]:
    """Text files under version control."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_package_index_is_named_anywhere() -> None:
    """Whoever installs this uses the index that their own machine is configured for."""
    hosts = re.compile(rb"(?i)pypi\.(org|python)|pythonhosted|pytorch\.org/whl|devpi|artifactory")
    options = re.compile(rb"(?<!no-emit-)(index-url|find-links|trusted-host)")
    found = {
        str(path): match[0]
        for path in tracked()
        for pattern in (hosts, options)
        if path != Path(__file__) and (match := pattern.search(path.read_bytes()))
    }
    assert found == {}


def test_every_make_target_that_is_talked_about_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in tracked():
        if path.suffix in {".md", ".yml"} or path.name in {"run", "Dockerfile"}:
            named = set(re.findall(r"(?:`|^)make ([a-z-]+)", path.read_text(), re.MULTILINE))
            assert named <= targets, f"{path} names make targets that do not exist: {named - targets}"


# --- packages ---


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names in the wheel, built as an installer would build it, but without fetching anything."""
    directory = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(directory)], cwd=ROOT, check=True, capture_output=True)
    (path,) = directory.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_sdk_alone(wheel: list[str]) -> None:
    info = f"duetime-{PROJECT['version']}.dist-info"
    assert {name.split("/")[0] for name in wheel} == {"duetime", info}
    assert f"{info}/entry_points.txt" in wheel
    assert f"{info}/licenses/LICENSE" in wheel


def test_the_wheel_holds_the_whole_sdk(wheel: list[str]) -> None:
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "duetime").rglob("*.py")}
    assert sources - set(wheel) == set()


def test_the_init_of_workflows_is_empty() -> None:
    """The workflow sandbox runs it again for every workflow it prepares."""
    assert [str(path) for path in (ROOT / "workflows").rglob("__init__.py") if path.read_text().strip()] == []


def test_nobody_imports_a_composition_root() -> None:
    """import-linter takes packages alone as roots, so it cannot say this about `worker` and `dev`."""
    found = {(str(path), name) for path, tree in modules(*PACKAGES) for name in imported(tree)}
    assert {
        pair for pair in found if pair[1].split(".")[0] in {"worker", "dev", "tests", "benchmarks"}
    } == set()


def test_contracts_import_only_pydantic_time_zones_and_the_standard_library() -> None:
    found = {(str(path), name) for path, tree in modules("duetime/contracts") for name in imported(tree)}
    allowed = sys.stdlib_module_names | {"pydantic", "annotated_types", "typing_extensions", "tzdata"}
    outside = {
        (path, name)
        for path, name in found
        if name.split(".")[0] not in allowed and not name.startswith("duetime.contracts")
    }
    assert outside == set()


# --- scripts/venv.py, which runs before anything is installed ---


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module that works in a directory of its own."""
    spec = importlib.util.spec_from_file_location("venv_script", ROOT / "scripts/venv.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / ".venv").mkdir()
    for name in (*LOCKS, "pyproject.toml"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "runs", lambda: True)
    return module


def test_the_installer_parses_on_pythons_that_are_too_old_for_it() -> None:
    tree_of(ROOT / "scripts/venv.py", feature_version=(3, 5))


def test_a_python_too_old_is_told_so_with_the_way_out(
    venv: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    monkeypatch.setattr(
        venv.shutil, "which", lambda name: name if name in {"python3.12", "python3.11"} else None
    )
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer; .* is 3\.9\. .*PYTHON=python3\.12$"):
        venv.check_python()


def test_a_python_without_ensurepip_is_told_so_with_the_way_out(
    venv: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match=rf"apt-get install python3\.{sys.version_info[1]}-venv$"):
        venv.check_python()


def test_an_unknown_lock_is_refused(venv: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"requirements-prod.*is not a lock file"):
        venv.main("requirements-prod.txt")


def installed(venv: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lock files that pip was asked to install, as they are."""
    asked: list[str] = []

    def run(*command: str) -> None:
        if "--requirement" in command:
            asked.append(Path(command[-1]).name)

    monkeypatch.setattr(venv, "run", run)
    return asked


def test_what_is_installed_is_not_installed_again(venv: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = installed(venv, monkeypatch)
    venv.main("requirements.txt")
    venv.main("requirements.txt")
    assert asked == ["requirements.txt"]


def test_tools_include_the_runtime_but_not_the_other_way_round(
    venv: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = installed(venv, monkeypatch)
    venv.main("requirements.txt")
    venv.main("requirements-dev.txt")
    venv.main("requirements.txt")
    assert asked == ["requirements.txt", "requirements-dev.txt"]


@pytest.mark.parametrize("changed", ["requirements.txt", "pyproject.toml"])
def test_a_change_is_installed(changed: str, venv: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = installed(venv, monkeypatch)
    venv.main("requirements.txt")
    (Path(venv.ROOT) / changed).write_text("other")
    venv.main("requirements.txt")
    assert asked == ["requirements.txt", "requirements.txt"]


def test_an_install_that_failed_is_repeated(venv: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "run", lambda *command: sys.exit(7))
    with pytest.raises(SystemExit, match="7"):
        venv.main("requirements.txt")
    asked = installed(venv, monkeypatch)
    venv.main("requirements.txt")
    assert asked == ["requirements.txt"]


def test_an_environment_that_no_longer_runs_is_made_anew(
    venv: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(venv, "run", lambda *command: asked.append(command))
    venv.main("requirements.txt")
    monkeypatch.setattr(venv, "runs", lambda: False)
    venv.main("requirements.txt")
    assert [command[1:4] for command in asked if "--clear" in command] == [("-m", "venv", "--clear")]
    assert [Path(command[-1]).name for command in asked if "--requirement" in command] == [
        "requirements.txt"
    ] * 2
