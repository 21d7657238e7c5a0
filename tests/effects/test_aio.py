"""The asyncio face: the same behaviour over the asyncio drivers."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from duetime import effects
from duetime.effects import NoTransaction, StaleToken, aio, once, prepare
from tests.effects.conftest import Database, with_ledger

NewEngine = Callable[..., AsyncEngine]


@pytest.fixture
async def engine(async_engines: NewEngine) -> AsyncEngine:
    engine = prepare(async_engines())
    await aio.create_schema(engine)
    return engine


async def test_everything_in_one_transaction(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await aio.fenced(connection, resource="r", token=5)
        assert await aio.once(connection, key="k")
        assert await aio.remember(connection, key="k", result={"a": [1]}) == {"a": [1]}
    async with engine.begin() as connection:
        await aio.create_schema(connection)
        assert not await aio.once(connection, key="k")
        assert await aio.recall(connection, key="k") == {"a": [1]}
        assert await aio.forget(connection, older_than="7d") == 0


async def test_roll_back(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        for _ in range(2):
            assert await aio.once(connection, key="k")
            await connection.rollback()


async def test_savepoint(engine: AsyncEngine) -> None:
    async with engine.connect() as connection, connection.begin() as transaction:
        async with connection.begin_nested():
            assert await aio.once(connection, key="k")
        await transaction.rollback()
    async with engine.begin() as connection:
        assert await aio.once(connection, key="k")


async def test_check(engine: AsyncEngine) -> None:
    await aio.check(engine, resource="r", token=5)
    with pytest.raises(StaleToken):
        await aio.check(engine, resource="r", token=4)
    async with engine.begin() as connection:
        with pytest.raises(StaleToken):
            await aio.fenced(connection, resource="r", token=4)


async def test_one_of_many(engine: AsyncEngine) -> None:
    async def contend(key: str) -> bool:
        async with engine.begin() as connection:
            first = await aio.once(connection, key=key)
            await aio.fenced(connection, resource=key, token=1)
            return first

    for key in ("k1", "k2", "k3"):
        answers = await asyncio.gather(*(contend(key) for _ in range(5)))
        assert sorted(answers) == [False] * 4 + [True]


async def test_unprepared_engine(database: Database, async_engines: NewEngine, engine: AsyncEngine) -> None:
    async with async_engines().connect() as connection:
        assert await aio.once(connection, key="k")
        await connection.rollback()
        assert await aio.once(connection, key="k")
        await connection.rollback()
        if database.kind == "sqlite":
            async with connection.begin_nested():
                with pytest.raises(NoTransaction, match=r"prepare\(engine\)"):
                    await aio.once(connection, key="k")


async def test_autocommit_is_refused(async_engines: NewEngine, engine: AsyncEngine) -> None:
    async with async_engines(isolation_level="AUTOCOMMIT").begin() as connection:
        with pytest.raises(NoTransaction, match="autocommit"):
            await aio.once(connection, key="k")
        with pytest.raises(NoTransaction, match="autocommit"):
            await aio.fenced(connection, resource="r", token=1)


async def test_cancelled_while_it_waits(postgresql: Database) -> None:
    """A handler that is cancelled lets go of everything, also on the server."""
    engine, another = with_ledger(postgresql), postgresql.async_engine()
    waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait_in_vain() -> None:
        async with another.begin() as connection:
            raw = await connection.get_raw_connection()
            waiting.set_result(raw.driver_connection.info.backend_pid)  # type: ignore[union-attr]
            await aio.once(connection, key="k")

    with engine.connect() as first:
        once(first, key="k")
        second = asyncio.create_task(wait_in_vain())
        assert postgresql.server
        await asyncio.to_thread(postgresql.server.wait_until_blocked, await waiting)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        first.rollback()
        assert once(first, key="k")
    await another.dispose()


async def test_orm_session(engine: AsyncEngine) -> None:
    async with AsyncSession(engine) as session:
        assert await aio.once(await session.connection(), key="k")
        with pytest.raises(TypeError, match=r"await session\.connection\(\)"):
            await aio.once(session, key="k")  # type: ignore[arg-type]


async def test_the_wrong_face_says_so(database: Database, engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        with pytest.raises(TypeError, match=r"duetime\.effects\.aio"):
            effects.once(connection, key="k")  # type: ignore[arg-type]
    with database.engine().connect() as connection, pytest.raises(TypeError, match="AsyncConnection"):
        await aio.once(connection, key="k")  # type: ignore[arg-type]


def test_every_function_that_speaks_to_the_database_has_its_asyncio_face() -> None:
    def speaks(function: Any) -> bool:
        first = next(iter(inspect.signature(function).parameters.values()), None)
        return first is not None and first.name in ("connection", "bind", "engine")

    functions = {name for name in effects.__all__ if inspect.isfunction(getattr(effects, name))}
    faces = {name for name in functions if speaks(getattr(effects, name))} - {"prepare"}
    assert set(aio.__all__) == faces


def test_faces_take_the_same_arguments() -> None:
    def arguments(function: Any) -> list[tuple[str, Any, Any]]:
        found = inspect.signature(function).parameters.values()
        return [(each.name, each.kind, each.default) for each in found]

    for name in aio.__all__:
        assert arguments(getattr(aio, name)) == arguments(getattr(effects, name)), name
