"""The effect ledger: side effects in a relational database happen once, and late attempts cannot write.

    with engine.begin() as connection:
        fenced(connection, resource="invoice:42", token=job.fencing_token)   # raises StaleToken
        if once(connection, key=job.idempotency_key):                        # False when it was done before
            connection.execute(...)

Everything takes part in the caller's transaction: commit keeps the effect and its mark together, roll-back
forgets both. PostgreSQL and SQLite, through any SQLAlchemy 2 `Connection`; `duetime.effects.aio` has the same
functions for an `AsyncConnection`. The guide is docs/effects.md.
"""

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    raise ImportError("the effect ledger needs SQLAlchemy 2: pip install 'duetime[ledger]'") from error

from duetime.effects.engines import prepare
from duetime.effects.errors import (
    AlreadyRemembered,
    LedgerError,
    NoSchema,
    NotDone,
    NoTransaction,
    StaleToken,
)
from duetime.effects.fence import check, fenced
from duetime.effects.marks import once, recall, remember
from duetime.effects.pruning import forget
from duetime.effects.schema import create_schema, metadata

__all__ = [
    "AlreadyRemembered",
    "LedgerError",
    "NoSchema",
    "NoTransaction",
    "NotDone",
    "StaleToken",
    "check",
    "create_schema",
    "fenced",
    "forget",
    "metadata",
    "once",
    "prepare",
    "recall",
    "remember",
]
