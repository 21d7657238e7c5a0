"""The few words in which PostgreSQL and SQLite differ."""

from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, Table, func
from sqlalchemy.dialects import postgresql, sqlite


def is_sqlite(dialect: Dialect) -> bool:
    """SQLite or PostgreSQL; `TypeError` for any other database."""
    if dialect.name not in ("postgresql", "sqlite"):
        raise TypeError(f"the effect ledger works on PostgreSQL and SQLite, not on {dialect.name}")
    return dialect.name == "sqlite"


def insert_into(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that can have an ON CONFLICT clause: one grammar, two dialects of SQLAlchemy."""
    return sqlite.insert(table) if is_sqlite(connection.dialect) else postgresql.insert(table)


def ago(connection: Connection, span: timedelta) -> ColumnElement[Any]:
    """The time `span` ago by the database's own clock, the one that stamped the rows."""
    if is_sqlite(connection.dialect):
        return func.datetime("now", f"-{span.total_seconds():.0f} seconds")
    return func.now() - span
