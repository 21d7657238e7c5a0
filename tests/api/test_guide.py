"""The guide to jobs: its examples are run, its bounds are the real ones."""

import json
import re
import shlex
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from duetime.contracts import limits
from duetime.contracts.job import JobSpec
from duetime.contracts.states import ErrorType, State
from duetime.worker import Worker

GUIDE = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text()
_BLOCK = re.compile(r"^```(\w+)(?: (\d{3}))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> Iterator[tuple[str, str, str]]:
    """Language, status and text of every fenced block."""
    for found in _BLOCK.finditer(GUIDE):
        yield found[1], found[2] or "", found[3]


def curl(command: str) -> dict[str, Any]:
    """The request that a `curl` command line makes."""
    _, *words = shlex.split(command)
    request: dict[str, Any] = {"headers": {}, "method": None}
    while words:
        word = words.pop(0)
        match word:
            case "-s":
                continue
            case "-X":
                request["method"] = words.pop(0)
            case "-H":
                name, _, value = words.pop(0).partition(": ")
                request["headers"][name] = value
            case "-d":
                request["content"] = words.pop(0)
            case _:
                assert word.startswith("http://127.0.0.1:8000/"), word
                request["url"] = word.removeprefix("http://127.0.0.1:8000")
    request["method"] = request["method"] or ("POST" if "content" in request else "GET")
    return request


def agrees(shown: Any, real: Any) -> bool:
    """Whether all that is shown is so; `"…"` is anything but nothing."""
    if shown == "…":
        return real is not None
    if isinstance(shown, dict):
        return isinstance(real, dict) and all(agrees(item, real.get(name)) for name, item in shown.items())
    if isinstance(shown, list):
        return len(shown) == len(real) and all(map(agrees, shown, real))
    return bool(shown == real)


@pytest.fixture
async def examples(client: Client) -> Any:
    async with Worker(client, ["examples.handlers"], queues=["default"]) as worker:
        yield worker


@pytest.mark.usefixtures("examples")
async def test_the_examples_do_what_they_show(http: httpx2.AsyncClient) -> None:
    answer: httpx2.Response | None = None
    shown = 0
    for language, status, text in blocks():
        if language == "sh":
            *first, last = text.replace("\\\n", " ").strip().split("\n\n")
            for command in first:
                answer = await http.request(**curl(command))
                assert answer.is_success, (command, answer.text)
            answer = await http.request(**curl(last))
        elif language == "json":
            assert answer is not None
            assert answer.status_code == int(status), (text, answer.text)
            assert agrees(json.loads(text), answer.json()), (text, answer.text)
            shown += 1
    assert shown >= 8


def test_the_guide_names_every_field_of_a_submission() -> None:
    for name in JobSpec.model_fields:
        assert f"`{name}`" in GUIDE, name


def test_the_guide_names_every_state_and_every_clock() -> None:
    for state in set(State) - {State.SKIPPED}:
        assert f"`{state}`" in GUIDE, state
    clocks = (
        ErrorType.QUEUE_TIMEOUT,
        ErrorType.ATTEMPT_TIMEOUT,
        ErrorType.LEASE_LOST,
        ErrorType.DEADLINE_EXCEEDED,
    )
    for clock in clocks:
        assert f"`{clock}`" in GUIDE, clock


def test_the_bounds_are_the_real_ones() -> None:
    told = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", GUIDE.partition("## Bounds")[2], re.MULTILINE))
    for name, wanted in {
        "`id`, `queue`": [limits.ID_LENGTH, limits.QUEUE_LENGTH],
        "`kind`": [limits.KIND_LENGTH],
        "`payload`": [f"{limits.PAYLOAD_BYTES // 1024} KiB", limits.JSON_DEPTH],
        "the whole body": [
            f"{limits.BODY_BYTES // 2**20} MiB",
            f"{limits.BATCH_BYTES // 2**20} MiB",
            f"{limits.BATCH_JOBS:,} jobs",
        ],
        "`tags`": [limits.TAGS, limits.TAG_LENGTH],
        "`after`": [limits.AFTER],
        "`fairness_key`, `fairness_weight`": [
            limits.FAIRNESS_KEY_BYTES,
            limits.FAIRNESS_WEIGHT[0],
            f"{limits.FAIRNESS_WEIGHT[1]:.0f}",
        ],
        "`retry.max_attempts`": [limits.MAX_ATTEMPTS],
        "`timeout`, `queue_timeout`, `deadline`": [
            f"{limits.SHORTEST_TIMEOUT.seconds} s",
            f"{limits.LONGEST_CLOCK.days} days",
        ],
        "`lease`": [
            f"{limits.SHORTEST_LEASE.seconds} s",
            f"{limits.LONGEST_LEASE // timedelta(hours=1)} h",
        ],
        "`spread`": [f"{limits.LONGEST_SPREAD.days} day"],
    }.items():
        for bound in wanted:
            assert str(bound) in told[name], (name, bound)
