"""Reading lists and counts as a caller does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from tests.support.waiting import gap

PATIENCE = 30.0


async def get(http: httpx2.AsyncClient, path: str, **parameters: Any) -> dict[str, Any]:
    """A good answer."""
    answer = await http.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def refusals(http: httpx2.AsyncClient, path: str, **parameters: Any) -> dict[str, str]:
    """Pointer to message of a refusal."""
    answer = await http.get(path, params=parameters)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return {fault["pointer"]: fault["message"] for fault in answer.json()["errors"]}


async def listed(
    http: httpx2.AsyncClient,
    between: Callable[[], Awaitable[None]] | None = None,
    **parameters: Any,
) -> list[dict[str, Any]]:
    """All jobs of a list, page by page; `between` is called after each page but the last."""
    jobs: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = await get(http, "/v1/jobs", **(parameters | cursor))
        assert len(page["jobs"]) <= parameters.get("limit", 50)
        jobs += page["jobs"]
        if page["next_cursor"] is None:
            return jobs
        cursor = {"cursor": page["next_cursor"]}
        if between is not None:
            await between()


async def ids(http: httpx2.AsyncClient, **parameters: Any) -> list[str]:
    return [job["id"] for job in await listed(http, **parameters)]


async def eventually(read: Callable[[], Awaitable[Any]], wanted: Any) -> None:
    """Returns when what is read is what is wanted: the index is a moment behind."""
    found: Any = None
    since = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await read()
                if found == wanted:
                    return
                await asyncio.sleep(gap(asyncio.get_running_loop().time() - since))
    except TimeoutError:
        raise AssertionError(f"never {wanted}, but {found}") from None
