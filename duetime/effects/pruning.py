"""Forgetting: the ledger grows by a row for every key and resource until someone says what is old enough."""

from datetime import timedelta

from sqlalchemy import Column, Connection, Table, delete, select

from duetime.contracts.duration import LONGEST, Duration
from duetime.effects.bounds import checked_span
from duetime.effects.dialects import ago
from duetime.effects.schema import EFFECTS, FENCES
from duetime.effects.transaction import require_connection, run


def forget(connection: Connection, *, older_than: Duration, limit: int = 10_000) -> int:
    """Delete marks and fences that no transaction has touched for `older_than`; answers how many rows.

    **This ends their guarantee.** A key that is forgotten is new again, and a forgotten resource takes any
    token. So `older_than` must exceed the longest time after which a job may still run again: its deadline
    and retries, any later redrive (as long as the namespace's retention), and the longest a frozen worker
    may sleep. At least a second.

    At most `limit` rows of either table, so that a first call on a large ledger does not hold its locks for
    long: repeat, each time in a new transaction, until it answers 0.
    """
    require_connection(connection)
    span = checked_span("older_than", older_than, shortest=timedelta(seconds=1), longest=LONGEST)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ValueError("limit: must be a positive number of rows")
    return _prune(connection, EFFECTS, EFFECTS.c.key, EFFECTS.c.done_at, span, limit) + _prune(
        connection, FENCES, FENCES.c.resource, FENCES.c.updated_at, span, limit
    )


def _prune(
    connection: Connection,
    table: Table,
    name: Column[str],
    stamp: Column[object],
    span: timedelta,
    limit: int,
) -> int:
    is_old = stamp < ago(connection, span)
    # Twice, because the inner one only chooses: a fence that an attempt moves in the meantime has to stay,
    # and PostgreSQL looks again at the outer condition alone when it had to wait for the row.
    some = select(name).where(is_old).limit(limit)
    return run(connection, delete(table).where(name.in_(some), is_old)).rowcount
