"""Each test gets a fresh, empty database, once of either kind."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from duetime.effects import create_schema
from tests.effects.accounts import create_accounts
from tests.support.postgres import PostgresServer, postgres_server

__all__ = ["postgres_server"]


@dataclass
class Database:
    kind: str
    url: str
    async_url: str
    server: PostgresServer | None = None
    schema: str = ""
    _engines: list[Engine] = field(default_factory=list)

    def engine(self, **options: Any) -> Engine:
        """A new engine with connections of its own, closed after the test."""
        engine = create_engine(self.url, **options)
        if self.kind == "sqlite":
            event.listen(engine, "connect", lambda dbapi, _: dbapi.execute("PRAGMA synchronous = OFF"))
        self._engines.append(engine)
        return engine

    def impatient(self) -> Engine:
        """An engine that will not wait for a lock (or hardly) but raises `OperationalError`."""
        if self.kind == "sqlite":
            return self.engine(connect_args={"timeout": 0})
        return self.engine(connect_args={"options": f"-csearch_path={self.schema} -clock_timeout=50ms"})

    def async_engine(self, **options: Any) -> AsyncEngine:
        return create_async_engine(self.async_url, **options)

    def wait_until_blocked(self, connection: Connection) -> None:
        """Return when the connection's statement waits for a lock: a fact that only PostgreSQL can tell."""
        if self.server is not None:
            driver: Any = connection.connection.driver_connection
            self.server.wait_until_blocked(driver.info.backend_pid)

    def close(self) -> None:
        for engine in self._engines:
            engine.dispose()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "ledger.db"
    database = Database("sqlite", f"sqlite:///{path}", f"sqlite+aiosqlite:///{path}")
    yield database
    database.close()


@pytest.fixture
def postgresql(postgres_server: PostgresServer) -> Iterator[Database]:
    schema = postgres_server.create_schema()
    url = f"{postgres_server.url}?options=-csearch_path%3D{schema}"
    database = Database("postgresql", url, url, postgres_server, schema)
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def engine(database: Database) -> Engine:
    """An engine as `create_engine` makes it, on a database with the ledger and somewhere to have effects."""
    return with_ledger(database)


def with_ledger(database: Database) -> Engine:
    engine = database.engine()
    create_schema(engine)
    create_accounts(engine)
    return engine


@pytest.fixture
def sqlite_engine(sqlite: Database) -> Engine:
    """For what is refused before any database sees it."""
    return with_ledger(sqlite)


@pytest.fixture
async def async_engines(database: Database) -> AsyncIterator[Callable[..., AsyncEngine]]:
    engines: list[AsyncEngine] = []

    def new(**options: Any) -> AsyncEngine:
        engines.append(database.async_engine(**options))
        return engines[-1]

    yield new
    for engine in engines:
        await engine.dispose()
