"""Fencing, one transaction after the other; together they are tried in test_concurrency.py."""

import pickle
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from duetime.effects import StaleToken, check, fenced
from tests.effects.accounts import balance, pay


def claim(engine: Engine, token: int, resource: str = "r") -> None:
    with engine.begin() as connection:
        fenced(connection, resource=resource, token=token)


def test_newer_token_takes_over_and_older_one_is_refused(engine: Engine) -> None:
    claim(engine, 5)
    claim(engine, 7)
    with pytest.raises(StaleToken) as caught:
        claim(engine, 6)
    error = caught.value
    assert (error.resource, error.token, error.seen) == ("r", 6, 7)
    assert str(error) == "stale token 6 for resource 'r': a newer attempt holds 7"
    claim(engine, 7)


def test_same_attempt_writes_as_often_as_it_likes(engine: Engine) -> None:
    with engine.begin() as connection:
        for _ in range(3):
            fenced(connection, resource="r", token=5)
    claim(engine, 5)


def test_resources_are_apart(engine: Engine) -> None:
    claim(engine, 7, "é")
    claim(engine, 5, "e\N{COMBINING ACUTE ACCENT}")
    claim(engine, 5, "É")
    with pytest.raises(StaleToken):
        claim(engine, 5, "é")


@pytest.mark.parametrize("token", [0, 1, 1_796_000_000_123_456, 2**53 + 1, 2**63 - 1])
def test_tokens_are_64_bits_wide(engine: Engine, token: int) -> None:
    claim(engine, token)
    claim(engine, token)
    if token:
        with pytest.raises(StaleToken) as caught:
            claim(engine, token - 1)
        assert caught.value.seen == token


def test_stale_attempt_leaves_nothing(engine: Engine) -> None:
    def pay_then_fence() -> None:
        with engine.begin() as connection:
            pay(connection)
            fenced(connection, resource="r", token=6)

    claim(engine, 7)
    with pytest.raises(StaleToken):
        pay_then_fence()
    assert balance(engine) == 0


def test_roll_back_forgets_the_token(engine: Engine) -> None:
    claim(engine, 5)
    with engine.connect() as connection:
        fenced(connection, resource="r", token=9)
        connection.rollback()
    claim(engine, 5)


def test_one_statement_when_it_passes(engine: Engine) -> None:
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    claim(engine, 5)
    claim(engine, 5)
    claim(engine, 6)
    assert len(statements) == 3


def test_check_moves_the_fence_for_everyone(engine: Engine) -> None:
    check(engine, resource="r", token=5)
    check(engine, resource="r", token=5)
    check(engine, resource="r", token=6)
    with pytest.raises(StaleToken):
        check(engine, resource="r", token=5)
    with pytest.raises(StaleToken):
        claim(engine, 5)


def test_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(StaleToken("r", 1, 2)))
    assert (error.resource, error.token, error.seen) == ("r", 1, 2)


@pytest.mark.parametrize(
    ("token", "error"),
    [
        (True, TypeError),
        (None, TypeError),
        (1.0, TypeError),
        ("1", TypeError),
        (-1, ValueError),
        (2**63, ValueError),
    ],
)
def test_a_bad_token_is_refused_by_name(sqlite_engine: Engine, token: int, error: type[Exception]) -> None:
    with sqlite_engine.begin() as connection:
        with pytest.raises(error, match=r"^token: "):
            fenced(connection, resource="r", token=token)
        fenced(connection, resource="the transaction is still good", token=1)


@pytest.mark.parametrize("resource", [None, 42, "", "x" * 513, "a\0b", "\ud800"])
def test_a_bad_resource_is_refused_by_name(sqlite_engine: Engine, resource: str) -> None:
    with sqlite_engine.begin() as connection, pytest.raises((TypeError, ValueError), match=r"^resource: "):
        fenced(connection, resource=resource, token=1)


_examples = count()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    attempts=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 4) | st.integers(0, 2**63 - 1), st.booleans()),
        max_size=12,
    )
)
def test_a_token_passes_exactly_when_no_higher_one_was_committed(
    engine: Engine, attempts: list[tuple[str, int, bool]]
) -> None:
    highest: dict[str, int] = {}
    example = next(_examples)
    for name, token, commits in attempts:
        resource = f"{example}:{name}"
        with engine.connect() as connection:
            if token < highest.get(resource, 0):
                with pytest.raises(StaleToken) as caught:
                    fenced(connection, resource=resource, token=token)
                assert caught.value.seen == highest[resource]
                continue
            fenced(connection, resource=resource, token=token)
            if commits:
                connection.commit()
                highest[resource] = token
