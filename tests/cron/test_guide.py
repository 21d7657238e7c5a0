"""docs/cron.md: every example in it is read and says what happens."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from duetime.contracts import limits
from duetime.contracts.preview import PreviewRequest
from duetime.cron import (
    RuleError,
    fires,
    in_words,
    load_zone,
    preview_rule,
    read_fields,
    read_instant,
    read_rule,
)
from duetime.cron.compile import MAX_ENTRIES
from duetime.cron.parse import MAX_LENGTH
from duetime.cron.rule import MAX_EXCLUDED, MAX_EXCLUDED_LINES, MAX_INSTANTS, MAX_LINES

GUIDE = (Path(__file__).parents[2] / "docs" / "cron.md").read_text()
POLICIES: list[dict[str, Any]] = [{}, {"gap": "skip"}, {"overlap": "last"}, {"overlap": "both"}]


def rows(*header: str) -> list[list[str]]:
    """The rows of every table with these words above them, without their backquotes."""
    found: list[list[str]] = []
    head = f"| {' | '.join(header)} |\n"
    for table in GUIDE.split(head)[1:]:
        for line in table.splitlines()[1:]:
            if not line.startswith("|"):
                break
            found.append([cell.strip().strip("`") for cell in line[1:-1].split("|")])
    assert found, header
    return found


def blocks() -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Each rule in JSON, and the list of times that follows it."""
    for asked, times in re.findall(r"```json\n(.*?)```\n\n```\n(.*?)```", GUIDE, re.DOTALL):
        yield json.loads(asked), times.splitlines()


@pytest.mark.parametrize(("line", "words"), rows("line", "means"))
def test_a_line_means_what_is_said(line: str, words: str) -> None:
    assert in_words(read_rule(cron=line)) == words


@pytest.mark.parametrize(("line", "words"), rows("line", "of the schedule `nightly-report` means"))
def test_h_chooses_what_is_said(line: str, words: str) -> None:
    assert in_words(read_rule(cron=line, schedule_id="nightly-report")) == words


@pytest.mark.parametrize(("line", "after", "listed"), rows("line", "after", "fires"))
def test_a_line_fires_when_it_is_said_to(line: str, after: str, listed: str) -> None:
    expected = listed.split(", ")
    found = islice(fires(read_rule(cron=line), datetime.fromisoformat(after), inclusive=False), len(expected))
    assert [f"{fire.utc:%m-%d %H:%M}" for fire in found] == expected


@pytest.mark.parametrize(("line", "said"), rows("line", "refused with"))
def test_a_line_is_refused_as_it_is_said(line: str, said: str) -> None:
    with pytest.raises(RuleError, match=re.escape(said)):
        read_rule(cron=line)


@pytest.mark.parametrize(("line", "said"), rows("line", "warning"))
def test_a_line_is_warned_of_as_it_is_said(line: str, said: str) -> None:
    assert said in read_rule(cron=line).warnings


@pytest.mark.parametrize(
    "row", rows("line", "zone", "on", "default", "gap: skip", "overlap: last", "overlap: both")
)
def test_a_line_fires_on_the_day_of_a_change_as_it_is_said(row: list[str]) -> None:
    line, zone, day, *listed = row
    midnight = datetime.fromisoformat(day).replace(tzinfo=load_zone(zone))
    start = midnight.astimezone(UTC) - timedelta(seconds=1)
    end = (midnight + timedelta(days=1)).astimezone(UTC) - timedelta(seconds=1)
    for policy, times in zip(POLICIES, listed, strict=True):
        found = fires(read_rule(cron=line, timezone=zone, **policy), start, end)
        shown = [fire.local.isoformat(timespec="minutes").partition("T")[2] for fire in found]
        assert shown == [time for time in times.split(", ") if time], policy


def test_a_rule_fires_when_it_is_said_to() -> None:
    assert len(list(blocks())) == 3
    for written, expected in blocks():
        asked = PreviewRequest.model_validate(written)
        assert asked.start is not None
        seen = preview_rule(read_fields(asked), read_instant(asked.start, None), asked.n, 1_000)
        assert [" ".join((f"{fire.utc:%Y-%m-%dT%H:%M:%SZ}", *fire.tags)) for fire in seen.fires] == expected


def test_bounds_are_the_real_ones() -> None:
    text = " ".join(GUIDE.split())
    for said in (
        f"a list of up to {MAX_LINES}:",
        f"up to {MAX_INSTANTS:,} instants",
        f"up to {MAX_LENGTH} characters",
        f"up to {MAX_EXCLUDED} dates and cron lines ({MAX_EXCLUDED_LINES} of these",
        f"at most {MAX_ENTRIES:,} entries",
        f"`n` (up to {limits.PREVIEWED_FIRES:,},",
    ):
        assert said in text, said
