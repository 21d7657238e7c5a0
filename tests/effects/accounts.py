"""The side effect of the tests: an account that payments go to and a name that the last writer leaves."""

from sqlalchemy import Column, Connection, Engine, Integer, MetaData, String, Table, insert, select, update

_metadata = MetaData()
_ACCOUNTS = Table(
    "accounts",
    _metadata,
    Column("balance", Integer, nullable=False),
    Column("writer", String, nullable=False),
)


def create_accounts(engine: Engine) -> None:
    with engine.begin() as connection:
        _metadata.create_all(connection)
        connection.execute(insert(_ACCOUNTS).values(balance=0, writer="nobody"))


def pay(connection: Connection, amount: int = 1) -> None:
    connection.execute(update(_ACCOUNTS).values(balance=_ACCOUNTS.c.balance + amount))


def sign(connection: Connection, writer: str) -> None:
    connection.execute(update(_ACCOUNTS).values(writer=writer))


def balance(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(select(_ACCOUNTS.c.balance)).scalar_one())


def writer(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.execute(select(_ACCOUNTS.c.writer)).scalar_one())
