"""The ledger for asyncio: the same functions, awaited, on an `AsyncConnection` (or `AsyncEngine`).

    async with engine.begin() as connection:
        await fenced(connection, resource="invoice:42", token=job.fencing_token)
        if await once(connection, key=job.idempotency_key):
            await connection.execute(...)

Nothing is decided here: each call runs the function of the same name on the connection's synchronous face.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from duetime import effects

try:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
except ImportError as error:
    raise ImportError("the effect ledger on asyncio needs greenlet: pip install 'duetime[ledger]'") from error

__all__ = ["check", "create_schema", "fenced", "forget", "once", "recall", "remember"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _awaited(
    function: Callable[Concatenate[Connection, _P], _T],
) -> Callable[Concatenate[AsyncConnection, _P], Awaitable[_T]]:
    @wraps(function)
    async def face(connection: AsyncConnection, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not isinstance(connection, AsyncConnection):
            raise TypeError(
                f"connection: must be a SQLAlchemy AsyncConnection, not {type(connection).__name__} "
                "(from an ORM session: await session.connection(); without asyncio: duetime.effects)"
            )
        return await connection.run_sync(function, *args, **kwargs)

    return face


fenced = _awaited(effects.fenced)
once = _awaited(effects.once)
remember = _awaited(effects.remember)
recall = _awaited(effects.recall)
forget = _awaited(effects.forget)
_create_schema = _awaited(effects.create_schema)


async def create_schema(bind: AsyncEngine | AsyncConnection) -> None:
    """Create what is missing of the ledger's tables: see `duetime.effects.create_schema`."""
    if isinstance(bind, AsyncEngine):
        async with bind.begin() as connection:
            await _create_schema(connection)
    else:
        await _create_schema(bind)


async def check(engine: AsyncEngine, *, resource: str, token: int) -> None:
    """`fenced` in a transaction of its own: see `duetime.effects.check`."""
    async with engine.begin() as connection:
        await fenced(connection, resource=resource, token=token)
