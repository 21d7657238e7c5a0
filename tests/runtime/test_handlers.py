"""`@handler` and `find_handlers`: what is wrong with a handler is found when the program starts."""

import functools
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

import examples.handlers
from duetime import Job, handler
from duetime.handlers import HandlerFault, find_handlers, handler_of


class Mail(BaseModel):
    to: str


@handler("mail", lease="45s", timeout=90, retry={"max_attempts": 3})
async def mail(payload: Mail, job: Job) -> None:
    """Sends a mail."""


@handler("count")
def count(payload: dict[str, Any]) -> int:
    return len(payload)


def test_what_a_handler_is() -> None:
    found = handler_of(mail)
    assert found is not None
    assert (found.kind, found.is_async, found.wants_job) == ("mail", True, True)
    assert found.defaults == {"lease": "45s", "timeout": 90, "retry": {"max_attempts": 3}}
    assert found.description == "Sends a mail."
    assert found.payload.validate_python({"to": "a"}) == Mail(to="a")
    plain = handler_of(count)
    assert plain is not None and not plain.is_async and not plain.wants_job
    assert handler_of(len) is None and handler_of(None) is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"kind": ""}, "/kind"),
        ({"kind": "a b"}, "/kind"),
        ({"kind": "a" * 101}, "at most 100"),
        ({"kind": "a", "lease": "1s"}, "/lease: must be from 2s to 1h"),
        ({"kind": "a", "timeout": "soon"}, "/timeout: not a duration"),
        ({"kind": "a", "retry": {"max_attempt": 3}}, "did you mean `max_attempts`"),
        ({"kind": "a", "heartbeat": "Manual"}, "'auto' or 'manual'"),
    ],
)
def test_bad_defaults(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(HandlerFault, match=why) as refused:
        handler(**arguments)
    assert f"@handler({arguments['kind']!r})" in str(refused.value)


def no_payload() -> None: ...


def three(payload: Any, job: Any, more: Any) -> None: ...


def keywords(payload: Any, *, job: Any) -> None: ...


def anything(*arguments: Any) -> None: ...


def generator(payload: Any) -> Iterator[int]:
    yield 1


async def async_generator(payload: Any) -> AsyncIterator[int]:
    yield 1


class Called:
    async def __call__(self, payload: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (no_payload, r"takes \(payload\) or \(payload, job\)"),
        (three, r"takes \(payload\) or \(payload, job\)"),
        (keywords, r"takes \(payload\) or \(payload, job\)"),
        (anything, r"takes \(payload\) or \(payload, job\)"),
        (generator, "a generator gives no result"),
        (async_generator, "a generator gives no result"),
        (Called(), "goes on an `async def` function"),
        (Called, "goes on a function"),
        ("text", "goes on a function"),
        (count, "serves 'count' already"),
    ],
)
def test_what_cannot_be_a_handler(function: Any, why: str) -> None:
    with pytest.raises(HandlerFault, match=why):
        handler("x")(function)


def test_a_decorator_around_a_handler_would_be_gone_past() -> None:
    @functools.wraps(mail)
    async def timed(*arguments: Any) -> None: ...

    with pytest.raises(HandlerFault, match="must be the outermost decorator"):
        find_handlers([timed])


def test_handlers_are_found_in_functions_modules_and_names() -> None:
    assert sorted(find_handlers([mail, count])) == ["count", "mail"]
    assert sorted(find_handlers([sys.modules[__name__]])) == ["count", "mail"]
    by_name = find_handlers(["examples.handlers", examples.handlers, examples.handlers.hello])
    assert sorted(by_name) == ["export.rows", "flaky", "hello", "reminder.send"]


def test_two_handlers_of_one_kind() -> None:
    @handler("mail")
    def other(payload: dict[str, Any]) -> None: ...

    with pytest.raises(HandlerFault, match="two handlers serve the kind 'mail'"):
        find_handlers([mail, other])
    assert list(find_handlers([mail, mail])) == ["mail"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("no.such.module", "there is no module 'no'"),
        ("examples.no_such", "there is no module 'examples.no_such'"),
        ("json", "json has no @handler function"),
        (ModuleType("empty"), "empty has no @handler function"),
        (len, "decorate it with @handler"),
        (5, "neither a handler nor a module"),
    ],
)
def test_sources_without_handlers(source: Any, why: str) -> None:
    with pytest.raises(HandlerFault, match=why):
        find_handlers([source])


def test_a_module_that_itself_imports_what_is_missing(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "breaks_on_import.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        find_handlers(["breaks_on_import"])


def test_annotations_that_cannot_be_used() -> None:
    @handler("forward")
    def forward(payload: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    class Odd:
        pass

    @handler("odd")
    def odd(payload: Odd) -> None: ...

    for function in (forward, odd):
        with pytest.raises(
            HandlerFault, match=r"annotation in the handler of '(forward|odd)' cannot be used"
        ):
            find_handlers([function])


def test_payloads_of_every_kind() -> None:
    @dataclass
    class Row:
        n: int

    def local(payload: Row) -> None: ...

    local.__annotations__["payload"] = Row
    found = find_handlers([handler("row")(local)])["row"]
    assert found.payload.validate_python({"n": 5}) == Row(5)

    @handler("bare")
    def bare(payload) -> None: ...  # type: ignore[no-untyped-def]

    assert find_handlers([bare])["bare"].payload.validate_python({"a": [1]}) == {"a": [1]}
