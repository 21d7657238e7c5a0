"""What jobs have effects on: two tables, in PostgreSQL and in SQLite, beside the ledger's own.

`deliveries` has a row for every effect; nothing in it keeps the same effect from coming twice. `writes` has a row for
every transaction of an attempt, in the order of their commits for one job, since the fence of the job orders them.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    insert,
    select,
)

from duetime.effects import create_schema, prepare

metadata = MetaData()

_NUMBER = BigInteger().with_variant(Integer, "sqlite")


def _table(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("number", _NUMBER, primary_key=True, autoincrement=True),
        Column("job", Text, nullable=False, index=True),
        Column("key", Text, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("worker", Text, nullable=False),
    )


DELIVERIES, WRITES = _table("deliveries"), _table("writes")


def connect(url: str, *, idle_timeout: str = "4s", lock_timeout: str = "8s") -> Engine:
    """An engine as the guide to the ledger recommends it."""
    engine = create_engine(url, pool_size=12, pool_pre_ping=True)
    prepare(engine, idle_timeout=idle_timeout, lock_timeout=lock_timeout)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA journal_mode = WAL"))
    return engine


def create_tables(url: str) -> None:
    engine = connect(url)
    create_schema(engine)
    metadata.create_all(engine)
    engine.dispose()


def note(connection: Connection, table: Table, job: str, key: str, token: int, worker: str) -> None:
    connection.execute(insert(table).values(job=job, key=key, token=token, worker=worker))


def rows(url: str, table: Table) -> list[Mapping[str, Any]]:
    """All rows, in order."""
    engine = connect(url)
    try:
        with engine.connect() as connection:
            return [
                dict(row) for row in connection.execute(select(table).order_by(table.c.number)).mappings()
            ]
    finally:
        engine.dispose()
