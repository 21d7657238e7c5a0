"""The kinds that every worker of the service brings along, with what they need from the settings."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from activities.command.kind import CommandKind
from activities.command.request import CommandRequest
from activities.context import JobContext
from activities.http.kind import HttpKind
from activities.http.policy import AddressPolicy
from activities.http.request import HttpRequest
from activities.http.signing import Signer
from activities.noop import NoopRequest, noop


@dataclass(frozen=True)
class Builtin:
    """A handler that is not registered yet: the arguments of `@handler` and what it decorates."""

    kind: str
    request: type[BaseModel]
    run: Callable[[Any, JobContext], Awaitable[dict[str, object]]]
    lease: str
    timeout: str


def builtin_handlers(
    *, http_allow: str = "", webhook_secrets: Sequence[str] = (), allow_commands: bool = False
) -> list[Builtin]:
    """`noop` and `http`, and `command` when the worker was started with `--allow-commands`.

    `http_allow` is `DUETIME_HTTP_ALLOW`. `ValueError` says which setting is wrong and what is allowed.
    """
    http = HttpKind(AddressPolicy.parse(http_allow), Signer(webhook_secrets))
    builtins = [
        Builtin("noop", NoopRequest, noop, lease="30s", timeout="1m"),
        Builtin("http", HttpRequest, http.run, lease="30s", timeout="5m"),
    ]
    if allow_commands:
        builtins.append(Builtin("command", CommandRequest, CommandKind().run, lease="30s", timeout="1h"))
    return builtins
