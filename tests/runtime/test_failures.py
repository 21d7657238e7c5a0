"""Whatever a handler raises becomes text of a safe length that anybody can read."""

import threading
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from duetime import Reject, RetryAfter
from duetime.runtime.failures import describe


class Demanding(Exception):
    """Cannot be rebuilt from its arguments."""

    def __init__(self, a: int, b: object) -> None:
        super().__init__(a)
        self.lock = b


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Deadly(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "type", "message"),
    [
        (ValueError("plain"), "ValueError", "plain"),
        (ValueError(), "ValueError", ""),
        (Demanding(1, threading.Lock()), "Demanding", "1"),
        (Mute(), "Mute", "(its text cannot be had: RuntimeError)"),
        (Deadly(), "Deadly", "(its text cannot be had: SystemExit)"),
        (SystemExit(2), "SystemExit", "2"),
        (KeyboardInterrupt(), "KeyboardInterrupt", ""),
        (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup", "two (2 sub-exceptions)"),
        (ValueError("lone \ud800"), "ValueError", "lone \\ud800"),
        (ValueError("nul \x00 and \x1b[31m"), "ValueError", "nul \\x00 and \\x1b[31m"),
        (ValueError("lines\nand\ttabs 😀"), "ValueError", "lines\nand\ttabs 😀"),
        (Reject("never"), "Rejected", "never"),
        (RetryAfter("5s", "busy"), "RetryAfter", "busy"),
        (ApplicationError("text", type="Mine"), "Mine", "text"),
        (ApplicationError("text"), "ApplicationError", "text"),
    ],
)
def test_every_error_has_a_text(error: BaseException, type: str, message: str) -> None:
    told = describe(raised(error))
    assert (told.type, told.message) == (type, message)
    assert told.stack is not None and "in raised" in told.stack
    told.model_dump_json().encode()


def test_text_without_end_is_cut_and_says_so() -> None:
    told = describe(raised(ValueError("x" * 5_000_000)))
    assert told.message.startswith("xxx") and told.message.endswith("… [cut, 5,000,000 characters]")
    assert told.stack is not None and "in raised" in told.stack
    assert len(told.model_dump_json()) < 12_000


def test_the_stack_begins_with_the_handlers_own_frames_and_keeps_causes() -> None:
    def handler() -> None:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error

    with pytest.raises(ValueError, match="second") as caught:
        handler()
    told = describe(caught.value)
    assert told.stack is not None
    assert "in handler" in told.stack and "KeyError: 'first'" in told.stack and "direct cause" in told.stack


def test_endless_recursion() -> None:
    def again(n: int) -> int:
        return again(n + 1) + 1

    with pytest.raises(RecursionError) as caught:
        again(0)
    told = describe(caught.value)
    assert told.type == "RecursionError"
    assert told.stack is not None and len(told.stack) < 9_000


def test_a_group_of_very_many() -> None:
    many = ExceptionGroup("many", [ValueError("x" * 10_000) for _ in range(1_000)])
    assert len(describe(raised(many)).model_dump_json()) < 12_000


def test_an_exception_class_with_an_odd_name() -> None:
    odd: Any = (
        type("E" * 1_000 + "\ud800", (Exception,), {}) if False else type("E" * 1_000, (Exception,), {})
    )
    assert describe(odd("x")).type.endswith("… [cut, 1,000 characters]")
