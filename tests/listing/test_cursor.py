"""Cursors: good for one list, whoever reads them; nothing else passes."""

import base64
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.jobs.cursor import Cursor, Key, Part, read, write
from api.problems import Problem
from tests.listing.crowd import Crowd
from tests.listing.lists import get, ids, refusals

moments = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))
runs = st.uuids().map(str)
cursors = st.builds(
    Cursor,
    part=st.sampled_from(Part),
    cutoff=moments,
    newest=moments,
    last=st.none() | st.builds(Key, closed_at=moments, started_at=moments, run_id=runs),
    told=st.lists(runs, max_size=3).map(tuple),
)


@given(cursors, st.text())
def test_what_is_written_is_read(cursor: Cursor, scope: str) -> None:
    scope = scope.encode("utf-8", "replace").decode()
    assert read(write(cursor, scope), scope) == cursor


@given(cursors, st.data())
def test_a_changed_cursor_is_refused(cursor: Cursor, data: st.DataObject) -> None:
    raw = bytearray(base64.urlsafe_b64decode(write(cursor, "here") + "=="))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Problem):
        read(base64.urlsafe_b64encode(raw).rstrip(b"=").decode(), "here")


@given(cursors)
def test_a_cursor_of_another_list_is_refused(cursor: Cursor) -> None:
    with pytest.raises(Problem):
        read(write(cursor, "here"), "there")


@given(st.text())
def test_a_text_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Problem):
        read(text, "here")


def test_a_cursor_stays_short() -> None:
    run = "019a1b2c-3d4e-7f50-8a61-b2c3d4e5f607"
    now = datetime(2027, 1, 15, tzinfo=UTC)
    cursor = Cursor(Part.OPEN, now, now, Key(now, now, run)).with_told([run] * 500)
    assert len(write(cursor, "here")) < 2500


@pytest.fixture
async def few(crowd: Crowd, http: httpx2.AsyncClient) -> list[str]:
    """Six jobs, half of them ended."""
    started = await crowd.start(6, tags=["few"])
    await crowd.end(started[:3])
    await crowd.indexed(running=3, ended=3)
    return started


async def test_any_instance_goes_on_where_another_stopped(
    few: list[str], http: httpx2.AsyncClient, other_http: httpx2.AsyncClient, queue: str
) -> None:
    told: list[str] = []
    cursor: dict[str, Any] = {}
    instances = [http, other_http]
    while cursor is not None:
        page = await get(instances[0], "/v1/jobs", queue=queue, limit=2, **cursor)
        told += [job["id"] for job in page["jobs"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
        instances.reverse()
    assert sorted(told) == sorted(few)


async def test_the_size_of_pages_may_change(few: list[str], http: httpx2.AsyncClient, queue: str) -> None:
    page = await get(http, "/v1/jobs", queue=queue, limit=1)
    rest = await get(http, "/v1/jobs", queue=queue, limit=200, cursor=page["next_cursor"])
    assert {job["id"] for job in page["jobs"] + rest["jobs"]} == set(few)
    assert rest["next_cursor"] is None


async def test_a_cursor_is_refused_with_another_filter(
    few: list[str], http: httpx2.AsyncClient, queue: str
) -> None:
    cursor = (await get(http, "/v1/jobs", queue=queue, limit=1))["next_cursor"]
    for other in ({}, {"queue": queue, "tag": "few"}, {"queue": queue, "state": "cancelled"}, {"queue": "x"}):
        assert list(await refusals(http, "/v1/jobs", cursor=cursor, **other)) == ["query cursor"]


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "null", "é", "' OR 1=1 --", "A" * 4000, "A" * 5000])
async def test_no_cursor_at_all_is_refused(http: httpx2.AsyncClient, cursor: str) -> None:
    assert list(await refusals(http, "/v1/jobs", cursor=cursor)) == ["query cursor"]


async def test_a_list_ends_with_null(crowd: Crowd, http: httpx2.AsyncClient, queue: str) -> None:
    assert await get(http, "/v1/jobs", queue=queue) == {"jobs": [], "next_cursor": None}
    started = await crowd.start(4)
    await crowd.indexed(running=4)
    for limit in (1, 2, 4, 5):
        assert sorted(await ids(http, queue=queue, limit=limit)) == sorted(started)
    page = await get(http, "/v1/jobs", queue=queue, limit=2)
    last = await get(http, "/v1/jobs", queue=queue, limit=2, cursor=page["next_cursor"])
    assert last["next_cursor"] is None
