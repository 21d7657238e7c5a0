"""Filters by the state of open jobs, which have to be looked at one by one."""

from datetime import timedelta

import httpx2
import pytest

from api.jobs import listing, pages
from tests.listing.crowd import Crowd
from tests.listing.lists import get, ids, listed


@pytest.fixture
async def mixed(crowd: Crowd) -> tuple[list[str], list[str]]:
    """Scheduled and queued jobs, one after the other."""
    scheduled, queued = [], []
    for _ in range(12):
        scheduled.append(await crowd.start_one())
        queued.append(await crowd.start_one(due_in=timedelta(0), task_queue=crowd.queue))
    await crowd.indexed(running=24)
    return scheduled, queued


async def test_pages_are_full_of_what_is_wanted(
    mixed: tuple[list[str], list[str]], http: httpx2.AsyncClient, queue: str
) -> None:
    scheduled, queued = mixed
    for limit in (1, 5, 12, 50):
        assert await ids(http, queue=queue, state="scheduled", limit=limit) == scheduled[::-1]
        assert await ids(http, queue=queue, state="queued", limit=limit) == queued[::-1]
        assert await ids(http, queue=queue, state="running,retrying", limit=limit) == []
    page = await get(http, "/v1/jobs", queue=queue, state="queued", limit=12)
    assert len(page["jobs"]) == 12


async def test_a_page_stops_at_its_bound_and_the_list_goes_on(
    mixed: tuple[list[str], list[str]], http: httpx2.AsyncClient, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of many jobs is wanted: the page is empty, and not the end."""
    monkeypatch.setattr(listing, "_STRIDE", 4)
    monkeypatch.setattr(pages, "MOST_READ", 4)
    page = await get(http, "/v1/jobs", queue=queue, state="running")
    assert page["jobs"] == []
    assert page["next_cursor"] is not None
    assert await listed(http, queue=queue, state="running") == []
    assert await ids(http, queue=queue, state="queued", limit=3) == mixed[1][::-1]


async def test_a_list_of_open_and_finished_states_has_both(
    mixed: tuple[list[str], list[str]], crowd: Crowd, http: httpx2.AsyncClient, queue: str
) -> None:
    scheduled, queued = mixed
    await crowd.end(queued[:1])
    await crowd.end(scheduled[:1])
    await crowd.indexed(running=22, ended=2)
    wanted = [*reversed(queued[1:]), scheduled[0], queued[0]]
    for limit in (1, 5, 50):
        assert await ids(http, queue=queue, state=["queued", "cancelled"], limit=limit) == wanted
        assert await ids(http, queue=queue, state="cancelled", limit=limit) == wanted[-2:]
