"""Fences over HTTP: for receivers that are not in the ledger's database, and for handlers in other languages.

`duetime.effects.check` on the service's own ledger database: which resource has seen which token.
"""

import asyncio
from pathlib import Path
from typing import Any, Self

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from api.observe.counters import stale_token_refused
from api.patience import PATIENCE
from api.problems import Problem, invalid, unavailable
from duetime.contracts.job import Contract
from duetime.effects import StaleToken, prepare
from duetime.effects.aio import check, create_schema
from duetime.effects.bounds import HIGHEST_TOKEN, checked_name

#: Drivers for asyncio, where the address names none or one that waits.
_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}


class FenceCheck(Contract):
    """The token of the attempt that is about to touch the resource: `job.fencing_token`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"token": 1796000000123456}]})

    token: int = Field(
        strict=True, ge=0, le=HIGHEST_TOKEN, description="64-bit; a higher one is of a later attempt"
    )


class FenceView(BaseModel):
    """The highest token that the resource has seen: the one just given."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"resource": "invoice:42", "token": 1796000000123456}]}
    )

    resource: str
    token: int


class Fences:
    """The fences of one ledger database. Connects when it is first asked, and again when it must."""

    def __init__(self, address: str) -> None:
        self._url = _for_asyncio(make_url(address))
        # Shorter than a caller waits: a frozen writer's transaction ends before the callers behind it give up.
        self._engine: AsyncEngine = prepare(
            create_async_engine(self._url, pool_pre_ping=True), idle_timeout="2s", lock_timeout="4s"
        )
        self._is_prepared = False
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._engine.dispose()

    async def check(self, resource: str, token: int) -> FenceView:
        """Lets `token` touch `resource`, and no lower one after it; a `412` problem when a higher one did."""
        try:
            checked_name("resource", resource)
        except ValueError as error:
            message = str(error).removeprefix("resource: ")
            raise invalid([{"pointer": "path resource", "message": message}]) from None
        try:
            async with asyncio.timeout(PATIENCE):
                await self._check(resource, token)
        except StaleToken as stale:
            stale_token_refused()
            raise _stale(stale) from None
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            raise unavailable(
                f"the ledger's database does not answer ({_cause(error)}); nothing is known of the resource",
                "ledger_unreachable",
            ) from None
        return FenceView(resource=resource, token=token)

    async def _check(self, resource: str, token: int) -> None:
        async with self._one_at_a_time:
            if not self._is_prepared:
                await self._prepare()
                self._is_prepared = True
        await check(self._engine, resource=resource, token=token)

    async def _prepare(self) -> None:
        """Makes what is missing: the directory of a database file, the tables."""
        if self._url.get_backend_name() == "sqlite" and self._url.database:
            Path(self._url.database).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        await create_schema(self._engine)


def _for_asyncio(url: URL) -> URL:
    if url.get_dialect().is_async:
        return url
    return url.set(drivername=_DRIVERS.get(url.get_backend_name(), url.drivername))


def _stale(stale: StaleToken) -> Problem:
    detail = f"the resource {stale.resource!r} was touched with the token {stale.seen}, which is higher"
    extra: dict[str, Any] = {"resource": stale.resource, "token": stale.token, "seen": stale.seen}
    return Problem(412, "stale-token", "Stale token", detail, extra=extra)


def _cause(error: BaseException) -> str:
    """The kind of error alone: the text of a driver may quote its address."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return type(cause).__name__


async def fences_of(request: Request) -> Fences:
    """The fences of the app that serves this request."""
    found = request.app.state.fences
    assert isinstance(found, Fences)
    return found
