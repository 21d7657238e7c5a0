"""The guides and the examples say what is so."""

import ast
import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from temporalio.client import Client as TemporalClient

import examples.handlers
from duetime import Client
from duetime.cli.exits import Exit
from duetime.cli.main import app
from duetime.handlers import find_handlers
from duetime.testing import FakeDuetime, fixtures
from examples import submit, submit_sync, with_temporal
from examples.test_reminders import *  # noqa: F403 - the tests of the example are tests of ours
from tests.client.test_errors import CLASSES
from tests.support.workers import serving

ROOT = Path(__file__).parents[2]
CLIENT, CLI, TESTING = ((ROOT / f"docs/{name}.md").read_text() for name in ("client", "cli", "testing"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", [CLIENT, CLI, TESTING])
def test_every_piece_of_code_is_python(text: str) -> None:
    for block in blocks(text, "python"):
        compile(block, "guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_method_of_the_client_is_in_its_guide() -> None:
    told = set(re.findall(r"^\| `(\w+)\(", CLIENT, re.MULTILINE))
    assert told - {"Client"} == {
        name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")
    }


def test_the_tree_of_errors_is_in_the_guide() -> None:
    drawn = {
        name
        for block in blocks(CLIENT, "text")
        for name in re.findall(r"^[│ ├└─]*([A-Z]\w+)", block, re.MULTILINE)
    }
    assert drawn == {found.__name__ for found in CLASSES}


def test_the_exit_codes_are_in_the_guide() -> None:
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", CLI, re.MULTILINE)] == sorted(Exit)


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def test_every_command_that_is_shown_exists_with_its_options() -> None:
    shown = [
        shlex.split(line, comments=True)
        for block in blocks(CLI, "sh")
        for line in re.findall(r"duetime ([^|)\n]*)", block)
    ]
    assert len(shown) > 8
    for command, *words in shown:
        found = commands()[command]
        found = found.commands[words[0]] if hasattr(found, "commands") else found
        known = {option for param in found.params for option in param.opts}
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= known


def test_every_command_is_in_the_guide() -> None:
    table = CLI.split("## For people")[0]
    visible = {name for name, command in commands().items() if not command.hidden}
    assert visible == set(re.findall(r"`([a-z-]+)(?: [A-Z…]+)?`", table)) & set(commands())


def test_every_fixture_is_in_the_guide() -> None:
    there = {name for name in vars(fixtures) if name.startswith("duetime_")}
    rows = re.findall(r"^\| (`duetime_.*?) \|", TESTING, re.MULTILINE)
    assert there == {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.fixture
def fake() -> FakeDuetime:
    found = FakeDuetime()
    found.register(examples.handlers)
    return found


async def test_the_example_of_the_client(fake: FakeDuetime) -> None:
    assert await submit.main(fake.client()) == [
        "Hello, world!",
        "taken by a job that is scheduled",
        "2 of 3 accepted",
        "the export succeeded",
    ]


def test_the_example_without_asyncio(fake: FakeDuetime) -> None:
    with fake.sync_client() as client:
        client.wait_for(client.submit("flaky", {"failures": 1}, retry={"max_attempts": 1}).id)
        assert submit_sync.main(client) == "1 jobs again"


async def test_the_example_with_temporal(client: TemporalClient, orchestration: None) -> None:
    async with serving(client, "default", *find_handlers([examples.handlers]).values()):
        assert await with_temporal.main(client) == [
            "sent to a@example.org at attempt 1",
            "a@invalid.example takes no mail",
        ]
