"""`POST /v1/schedules:preview`: due times, words and refusals, with nothing kept."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client

from duetime.cron import ZONES_VERSION
from tests.api.caller import problem
from tests.api.test_guide import agrees, curl

JSON = dict[str, Any]


async def preview(http: httpx2.AsyncClient, **asked: Any) -> JSON:
    if "start" in asked:
        asked["from"] = asked.pop("start")
    answer = await http.post("/v1/schedules:preview", json=asked)
    assert answer.status_code == 200, answer.text
    seen: JSON = answer.json()
    return seen


def times(seen: JSON) -> list[tuple[str, ...]]:
    return [(fire["utc"], *fire["tags"]) for fire in seen["fires"]]


async def test_a_night_with_an_hour_that_comes_twice(http: httpx2.AsyncClient) -> None:
    seen = await preview(
        http,
        cron="30 1 * * *",
        timezone="America/New_York",
        exclude=["2026-11-02"],
        start="2026-10-31T05:30:00Z",
        n=3,
    )
    assert seen == {
        "timezone": "America/New_York",
        "fires": [
            {"utc": "2026-10-31T05:30:00Z", "local": "2026-10-31T01:30:00-04:00", "tags": []},
            {"utc": "2026-11-01T05:30:00Z", "local": "2026-11-01T01:30:00-04:00", "tags": ["dst_repeat"]},
            {"utc": "2026-11-02T06:30:00Z", "local": "2026-11-02T01:30:00-05:00", "tags": ["excluded"]},
            {"utc": "2026-11-03T06:30:00Z", "local": "2026-11-03T01:30:00-05:00", "tags": []},
        ],
        "ends": False,
        "in_words": "At 01:30 every day, America/New_York time, except on 2026-11-02",
        "warnings": [],
        "time_zone_database": ZONES_VERSION,
    }


async def test_a_skipped_time_is_made_up_for_right_after_the_gap(http: httpx2.AsyncClient) -> None:
    rule = {"cron": "30 2 * * *", "timezone": "America/New_York", "start": "2026-03-07T00:00:00", "n": 3}
    assert times(await preview(http, **rule)) == [
        ("2026-03-07T07:30:00Z",),
        ("2026-03-08T07:00:00Z", "dst_gap"),
        ("2026-03-09T06:30:00Z",),
    ]
    skipped = await preview(http, **rule, dst={"gap": "skip"})
    assert times(skipped)[1] == ("2026-03-09T06:30:00Z",)


async def test_now_is_where_it_starts_and_ten_is_how_many(http: httpx2.AsyncClient) -> None:
    first = await preview(http, every="1h")
    assert len(first["fires"]) == 10
    assert first["fires"][0]["utc"] > "2026-01-01"


async def test_the_id_chooses_for_h(http: httpx2.AsyncClient) -> None:
    rule = {"cron": "H 2 * * *", "start": "2027-01-01T00:00:00Z", "n": 1}
    one, other, again = [
        times(await preview(http, **rule, id=name)) for name in ("nightly", "weekly", "nightly")
    ]
    assert one == again != other


async def test_a_list_that_ends_says_so(http: httpx2.AsyncClient) -> None:
    at = ["2027-01-15T09:00:00+01:00", "2027-02-15T09:00:00+01:00"]
    seen = await preview(http, at=at)
    assert (times(seen), seen["ends"]) == ([("2027-01-15T08:00:00Z",), ("2027-02-15T08:00:00Z",)], True)
    later = await preview(http, at=at, start="2028-01-01T00:00:00Z")
    assert (later["fires"], later["ends"], later["warnings"]) == ([], True, [])


async def test_a_leap_day_after_the_engine_s_last_year_is_not_promised(http: httpx2.AsyncClient) -> None:
    seen = await preview(http, cron="0 9 29 2 *", start="2092-03-01T00:00:00Z")
    assert (times(seen), seen["ends"]) == ([("2096-02-29T09:00:00Z",)], True)
    assert "2100" in seen["warnings"][-1]
    none = await preview(http, cron="0 9 29 2 *", start="2096-03-01T00:00:00Z")
    assert (none["fires"], none["ends"]) == ([], True)


async def test_warnings_tell_what_was_most_likely_not_meant(http: httpx2.AsyncClient) -> None:
    seen = await preview(http, cron="*/90 * * * *", timezone="EST")
    assert any("America/New_York" in said for said in seen["warnings"])
    assert any("90m" in said for said in seen["warnings"])


async def test_more_excluded_times_than_are_listed_are_told_of(http: httpx2.AsyncClient) -> None:
    seen = await preview(
        http, cron="* * * * *", exclude=[{"cron": "* * * 2-12 *"}], start="2027-01-31T23:59:00Z", n=2
    )
    assert len(seen["fires"]) == 1_002
    assert times(seen)[-1] == ("2028-01-01T00:00:00Z",)
    assert "1,000" in seen["warnings"][-1]


REFUSED: dict[str, tuple[JSON, str, str]] = {
    "nothing": ({}, "", "one of"),
    "an unknown field": ({"cron": "@daily", "tz": "UTC"}, "/tz", "unknown field"),
    "a never": ({"cron": "0 0 30 2 *"}, "/cron", "never fires"),
    "a never by exclusion": ({"cron": "@daily", "exclude": [{"cron": "* * * * *"}]}, "", "never fires"),
    "a past": ({"at": ["2020-01-01T00:00:00Z"]}, "", "never fires"),
    "a zone": ({"cron": "@daily", "timezone": "Mars/Olympus"}, "/timezone", "unknown time zone"),
    "a from": ({"cron": "@daily", "from": "tomorrow"}, "/from", "not an instant"),
    "a from without offset": ({"cron": "@daily", "from": "2027-01-01T00:00:00"}, "/from", "no offset"),
    "no fires": ({"cron": "@daily", "n": 0}, "/n", "at least 1"),
    "too many": ({"cron": "@daily", "n": 1001}, "/n", "1,000"),
    "a number as text": ({"cron": "@daily", "n": "5"}, "/n", "whole number"),
    "an id": ({"cron": "H * * * *", "id": "a b"}, "/id", "may hold letters, digits and"),
    "too much for the engine": (
        {"cron": "* 0-59 0-6 * * *", "timezone": "America/New_York"}, "", "1,000 entries"),
    "a silence": (
        {"cron": "* * * * * *", "exclude": [{"cron": "* * * 2-12 *"}]}, "/exclude", "silence"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
async def test_a_rule_that_no_schedule_can_have_is_refused_with_the_place(
    http: httpx2.AsyncClient, name: str
) -> None:
    asked, pointer, said = REFUSED[name]
    answer = await http.post("/v1/schedules:preview", json=asked)
    (fault,) = problem(answer, 422, "invalid")["errors"]
    assert fault["pointer"] == pointer
    assert said in fault["message"]


@pytest.mark.parametrize(
    ("cron", "pointer", "column"),
    [("0 25 * * *", "/cron", 3), (["@daily", "0 22-2 * * *"], "/cron/1", 3), ("0 0 * * FRY", "/cron", 9)],
)
async def test_a_cron_line_s_fault_has_its_column(
    http: httpx2.AsyncClient, cron: Any, pointer: str, column: int
) -> None:
    answer = await http.post("/v1/schedules:preview", json={"cron": cron})
    (fault,) = problem(answer, 422, "invalid")["errors"]
    assert (fault["pointer"], fault["column"]) == (pointer, column)
    assert f"column {column}" in fault["message"]


async def test_nothing_is_kept(http: httpx2.AsyncClient, client: Client) -> None:
    await preview(http, id="preview-keeps-nothing", cron="@daily")
    assert [found.id async for found in await client.list_schedules()].count("preview-keeps-nothing") == 0


async def test_the_guide_s_example_is_answered_as_it_says(http: httpx2.AsyncClient) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "cron.md").read_text()
    (command,) = re.findall(r"^```sh\n(curl .*?)^```", guide, re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```json 200\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    answer = await http.request(**curl(command))
    assert answer.status_code == 200, answer.text
    assert agrees(json.loads(shown), answer.json()), answer.text
