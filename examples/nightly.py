"""A nightly pipeline over orders: extract, check, load, report. `make run` loads its handlers, and tells how to start.

`nightly.json` is the pipeline for one day, `nightly-schedule.json` a schedule of it: every night for the day before.

Every step may run twice: its worker died, somebody redrove the pipeline, or two of them are at work on one day. Reading
steps give the same answer again. The one that writes replaces the day's rows as a whole, in one transaction, fenced, so
that the newest attempt has the last word; and what was done under a job's key is not done again.

The tables are beside the effect ledger (DUETIME_LEDGER_URL): SQLite in the data directory, or PostgreSQL.
"""

import random
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    func,
    insert,
    make_url,
    select,
)

from duetime import Job, Reject, handler
from duetime.effects import create_schema, fenced, once, prepare, recall, remember
from duetime.settings import load_settings

tables = MetaData()
ORDERS = Table(
    "nightly_orders",
    tables,
    Column("day", String(10), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("customer", String(40), nullable=False),
    Column("cents", Integer, nullable=False),
)

#: More bad rows than this share, and something is wrong with the source.
_MOST_BAD = 0.1
_CUSTOMERS = ("Ahmed", "Berg", "Castillo", "Dubois", "Eze", "Fischer", "Gupta", "Haddad")


class Order(BaseModel):
    number: int
    customer: str
    cents: int


class Day(BaseModel):
    """A day; left out, it is the one before the night that a schedule runs this for."""

    day: date | None = None

    def of(self, job: Job) -> date:
        if self.day is not None:
            return self.day
        if job.nominal_time is None:
            raise Reject("no schedule runs this: name the `day`")
        return job.nominal_time.date() - timedelta(days=1)


class Rows(BaseModel):
    rows: list[Order]


class Load(Day):
    rows: list[Order]


class Summary(Day):
    refused: int = 0


@handler("nightly.extract", timeout="1m")
async def extract(wanted: Day, job: Job) -> dict[str, Any]:
    """Reads a day's orders. The shop is made up, and always says the same of the same day."""
    chance = random.Random(wanted.of(job).isoformat())  # noqa: S311
    rows = [
        Order(number=number, customer=chance.choice(_CUSTOMERS), cents=chance.randint(100, 50_000))
        for number in range(1, chance.randint(80, 120))
    ]
    for row in chance.sample(rows, 3):  # every source has some
        row.cents = -row.cents
    return {"rows": [row.model_dump() for row in rows]}


@handler("nightly.check", timeout="1m")
async def check(given: Rows, job: Job) -> dict[str, Any]:
    """Keeps the good rows; ends the pipeline when too many are bad, for trying again would find them again."""
    good = [row for row in given.rows if row.cents > 0]
    refused = len(given.rows) - len(good)
    if refused > _MOST_BAD * len(given.rows):
        raise Reject(f"{refused} of {len(given.rows)} orders are bad: is the source well?")
    return {"rows": [row.model_dump() for row in good], "refused": refused}


@handler("nightly.load", timeout="1m")
def load(given: Load, job: Job) -> dict[str, int]:
    """Replaces the day's rows by these. A `def` handler, as this waits for the database: it runs in a thread."""
    day = given.of(job).isoformat()
    with database().begin() as connection:
        fenced(connection, resource=f"nightly:{day}", token=job.fencing_token)
        if once(connection, key=job.idempotency_key):
            connection.execute(delete(ORDERS).where(ORDERS.c.day == day))
            if given.rows:
                connection.execute(insert(ORDERS), [{"day": day, **row.model_dump()} for row in given.rows])
            remember(connection, key=job.idempotency_key, result={"loaded": len(given.rows)})
        told = recall(connection, key=job.idempotency_key)
    assert isinstance(told, dict)
    return {"loaded": int(str(told["loaded"]))}


@handler("nightly.report", timeout="1m")
def report(wanted: Summary, job: Job) -> dict[str, Any]:
    """What came in that day, from the table."""
    day = wanted.of(job).isoformat()
    totals = select(ORDERS.c.customer, func.sum(ORDERS.c.cents).label("cents")).where(ORDERS.c.day == day)
    with database().connect() as connection:
        found = connection.execute(totals.group_by(ORDERS.c.customer).order_by(ORDERS.c.customer)).all()
        count = connection.execute(
            select(func.count()).select_from(ORDERS).where(ORDERS.c.day == day)
        ).scalar_one()
    by_customer = {row.customer: row.cents / 100 for row in found}
    total = round(sum(by_customer.values()), 2)
    job.log.info("%s: %d orders, %.2f in all", day, count, total)
    return {
        "day": day,
        "orders": count,
        "refused": wanted.refused,
        "total": total,
        "by_customer": by_customer,
    }


@handler("nightly.alert", timeout="1m")
async def alert(wanted: Day, job: Job) -> dict[str, str]:
    """Runs when a step before it failed; a real one would wake somebody."""
    told = f"the orders of {wanted.of(job)} did not arrive"
    job.log.warning(told)
    return {"told": told}


def database() -> Engine:
    """The database of the ledger, with the tables in it. One transaction can then have both."""
    return _engine(load_settings().ledger_address)


@cache
def _engine(address: str) -> Engine:
    url = make_url(address)
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = prepare(create_engine(url))
    create_schema(engine)
    with engine.begin() as connection:
        # Of several workers that start at once the others wait here: IF NOT EXISTS does not hold between them.
        fenced(connection, resource="nightly:tables", token=0)
        tables.create_all(connection)
    return engine
