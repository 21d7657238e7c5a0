"""Fencing: a resource remembers the newest token it has seen, and older attempts cannot write to it."""

from sqlalchemy import Connection, Engine, func, select

from duetime.effects.bounds import checked_name, checked_token
from duetime.effects.dialects import insert_into
from duetime.effects.errors import StaleToken
from duetime.effects.schema import FENCES
from duetime.effects.transaction import require_connection, run


def fenced(connection: Connection, *, resource: str, token: int) -> None:
    """Claim `resource` for the attempt that holds `token` until the transaction ends; else `StaleToken`.

    Call it first in the transaction, before anything is read that the writes depend on. The same token
    passes any number of times, a higher one takes over. Everyone else who is fenced on the resource waits
    until this transaction ends, so what commits under a lower token commits before what commits under a
    higher one.

    One statement when it passes. Compare-and-set and lock are that one statement: on PostgreSQL the lock of
    the row (which ON CONFLICT takes even where its WHERE does not hold), on SQLite that of the database.
    """
    require_connection(connection)
    checked_name("resource", resource)
    checked_token(token)
    claim = insert_into(connection, FENCES).values(resource=resource, token=token)
    claim = claim.on_conflict_do_update(
        index_elements=[FENCES.c.resource],
        set_={"token": claim.excluded.token, "updated_at": func.now()},
        where=FENCES.c.token <= claim.excluded.token,
    )
    if run(connection, claim).rowcount == 0:
        seen = run(connection, select(FENCES.c.token).where(FENCES.c.resource == resource)).scalar_one()
        raise StaleToken(resource, token, seen)


def check(engine: Engine, *, resource: str, token: int) -> None:
    """`fenced` in a transaction of its own, for writes that go elsewhere (a file, a device, another API).

    When it returns, every lower token is refused from now on. It cannot hold back a write that is already
    on its way: that is what `fenced` beside the write is for.
    """
    with engine.begin() as connection:
        fenced(connection, resource=resource, token=token)
