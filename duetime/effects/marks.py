"""Marks: an effect is done once, and its result is kept for those who come again."""

from pydantic import JsonValue
from sqlalchemy import Connection, select, update

from duetime.effects.bounds import checked_name, result_from_text, result_to_text
from duetime.effects.dialects import insert_into
from duetime.effects.errors import AlreadyRemembered, NotDone
from duetime.effects.schema import EFFECTS
from duetime.effects.transaction import require_connection, run


def once(connection: Connection, *, key: str) -> bool:
    """Mark the effect `key` as done by this transaction: True the first time, False when it was done before.

    While another transaction has marked the key and is not over, this waits: a commit there is False here, a
    roll-back there is True here. One statement.
    """
    require_connection(connection)
    checked_name("key", key)
    mark = insert_into(connection, EFFECTS).values(key=key)
    return run(connection, mark.on_conflict_do_nothing(index_elements=[EFFECTS.c.key])).rowcount == 1


def remember(connection: Connection, *, key: str, result: JsonValue) -> JsonValue:
    """Keep `result` with the effect for `recall`, in the transaction that did it; answers what `recall` will.

    JSON up to 256 KiB, `None` included. The first result stays: a second is `AlreadyRemembered`.
    Without a mark it is `NotDone`.
    """
    checked_name("key", key)
    text = result_to_text(result)
    first = update(EFFECTS).where(EFFECTS.c.key == key, EFFECTS.c.result.is_(None)).values(result=text)
    if run(connection, first).rowcount == 0:
        recall(connection, key=key)
        raise AlreadyRemembered(key)
    # Through JSON and back, so that the first run and its repetitions go on with the same value.
    answer: JsonValue = result_from_text(text)
    return answer


def recall(connection: Connection, *, key: str) -> JsonValue:
    """The result that was remembered for the effect, or `None` when nothing was; `NotDone` without a mark."""
    checked_name("key", key)
    row = run(connection, select(EFFECTS.c.result).where(EFFECTS.c.key == key)).one_or_none()
    if row is None:
        raise NotDone(key)
    answer: JsonValue = None if row.result is None else result_from_text(row.result)
    return answer
