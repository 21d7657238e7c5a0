"""The ledger's two tables, and the one call that creates them.

docs/effects.md has the same as plain SQL, for teams that keep their migrations by hand; with Alembic, add
`duetime.effects.metadata` to `target_metadata`.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    DateTime,
    Engine,
    Index,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from duetime.effects.dialects import is_sqlite
from duetime.effects.transaction import require_transaction, run

#: Names are compared byte by byte. A unique index under a language's collation is silently wrong after an
#: upgrade of the C library's or ICU's rules (https://wiki.postgresql.org/wiki/Locale_data_changes), and an
#: effect happens twice.
_Name = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")

metadata = MetaData()

#: The highest token that each resource has seen.
FENCES = Table(
    "duetime_fences",
    metadata,
    Column("resource", _Name, primary_key=True),
    Column("token", BigInteger, nullable=False),
    # Not indexed: every write moves it, and an index would cost PostgreSQL its cheap (HOT) updates.
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)

#: One row for every effect that was done; `result` is JSON as text, NULL until something is remembered.
EFFECTS = Table(
    "duetime_effects",
    metadata,
    Column("key", _Name, primary_key=True),
    Column("result", Text),
    Column("done_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
DONE_AT_INDEX = Index("duetime_effects_done_at", EFFECTS.c.done_at)

#: Key of PostgreSQL's advisory lock: any number that no one else uses; these are the letters "duetime".
_SCHEMA_LOCK = int.from_bytes(b"duetime")


def create_schema(bind: Engine | Connection) -> None:
    """Create what is missing of the ledger's tables.

    Safe to call at every start and from many processes at once. A role that may not create tables can call
    it where they exist. With a connection, the tables are there when its transaction commits.
    """
    if isinstance(bind, Engine):
        with bind.begin() as connection:
            create_schema(connection)
        return
    require_transaction(bind)
    if _is_complete(bind):
        return
    if not is_sqlite(bind.dialect):
        # IF NOT EXISTS does not hold between two sessions: the loser hits a unique index of the catalog.
        run(bind, select(func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
    for table in metadata.sorted_tables:
        run(bind, CreateTable(table, if_not_exists=True))
    run(bind, CreateIndex(DONE_AT_INDEX, if_not_exists=True))


def _is_complete(connection: Connection) -> bool:
    inspector = inspect(connection)
    schema = connection.schema_for_object(EFFECTS)
    # The index comes last, and alone where the driver of SQLite commits every CREATE by itself.
    return inspector.has_table(FENCES.name, schema) and inspector.has_index(
        EFFECTS.name, "duetime_effects_done_at", schema
    )
