"""The tables: made by one call, by anyone, at any time, and the same as the SQL that the guide prints."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, inspect, make_url
from sqlalchemy.exc import ProgrammingError

from duetime.effects import create_schema, fenced, metadata, once
from tests.effects.conftest import Database
from tests.support.postgres import PATIENCE

GUIDE = Path(__file__).parents[2] / "docs" / "effects.md"


def test_twice_is_as_good_as_once(database: Database) -> None:
    engine = database.engine()
    create_schema(engine)
    with engine.begin() as connection:
        assert once(connection, key="k")
    create_schema(engine)
    with engine.begin() as connection:
        create_schema(connection)
        assert not once(connection, key="k")


@pytest.mark.parametrize("round_", range(3))
def test_many_at_once(database: Database, round_: int) -> None:
    barrier = Barrier(6)

    def create(engine: Engine) -> None:
        with engine.connect():
            barrier.wait(PATIENCE)
        create_schema(engine)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(create, [database.engine() for _ in range(6)]))
    assert set(inspect(database.engine()).get_table_names()) == set(metadata.tables)


def test_what_is_missing_is_added(database: Database) -> None:
    engine = database.engine()
    create_schema(engine)
    whole = described(engine)
    for loss in ("TABLE duetime_fences", "INDEX duetime_effects_done_at", "TABLE duetime_effects"):
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP {loss}")
        assert described(engine) != whole
        create_schema(engine)
        assert described(engine) == whole


def test_part_of_the_callers_transaction(postgresql: Database) -> None:
    engine = postgresql.engine()
    with engine.connect() as connection:
        create_schema(connection)
        assert once(connection, key="k")
        connection.rollback()
    assert inspect(engine).get_table_names() == []


def test_role_that_may_not_create_tables(postgresql: Database) -> None:
    engine = postgresql.engine()
    role = f"{postgresql.schema}_app"
    with engine.begin() as connection:
        for statement in (
            f"CREATE ROLE {role} LOGIN PASSWORD 'app'",
            f"GRANT USAGE ON SCHEMA {postgresql.schema} TO {role}",
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA {postgresql.schema} "
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
        ):
            connection.exec_driver_sql(statement)
    app = create_engine(make_url(postgresql.url).set(username=role, password="app"))
    try:
        with pytest.raises(ProgrammingError, match="permission denied"):
            create_schema(app)
        create_schema(engine)
        create_schema(app)
        with app.begin() as connection:
            fenced(connection, resource="r", token=1)
            assert once(connection, key="k")
    finally:
        app.dispose()


def test_another_schema_by_sqlalchemys_translation(postgresql: Database) -> None:
    name = f"{postgresql.schema}_ledger"
    engine = postgresql.engine().execution_options(schema_translate_map={None: name})
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    create_schema(postgresql.engine())
    for _ in range(2):
        create_schema(engine)
    with postgresql.engine().begin() as connection:
        connection.exec_driver_sql("DROP TABLE duetime_fences, duetime_effects")
    with engine.begin() as connection:
        fenced(connection, resource="r", token=1)
        assert once(connection, key="k")
    assert inspect(engine).get_table_names() == []
    assert set(inspect(engine).get_table_names(schema=name)) == set(metadata.tables)


def test_names_do_not_depend_on_a_language(postgresql: Database) -> None:
    create_schema(postgresql.engine())
    found = described(postgresql.engine())
    assert found["duetime_effects"]["columns"]["key"][-1] == "C"
    assert found["duetime_fences"]["columns"]["resource"][-1] == "C"


def test_guide_prints_the_same_schema(database: Database, tmp_path: Path) -> None:
    create_schema(database.engine())
    expected = described(database.engine())
    printed = re.findall(r"```sql\n-- (\w+)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    script = next(text for name, text in printed if name.lower() == database.kind)
    with database.engine().begin() as connection:
        for table in metadata.tables:
            connection.exec_driver_sql(f"DROP TABLE {table}")
        for statement in filter(str.strip, script.split(";")):
            connection.exec_driver_sql(statement)
    assert described(database.engine()) == expected


def described(engine: Engine) -> dict[str, dict[str, Any]]:
    """Everything that the database itself knows of the tables, in words that compare."""
    inspector = inspect(engine)
    return {
        table: {
            "columns": {
                column["name"]: (
                    str(column["type"]),
                    column["nullable"],
                    str(column["default"]).lower(),
                    getattr(column["type"], "collation", None),
                )
                for column in inspector.get_columns(table)
            },
            "key": inspector.get_pk_constraint(table)["constrained_columns"],
            "indexes": [(index["name"], index["column_names"]) for index in inspector.get_indexes(table)],
        }
        for table in sorted(inspector.get_table_names())
    }
