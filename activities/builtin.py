"""The kinds that every worker of the service brings along, with what they need from the settings."""

from collections.abc import Sequence

from activities.command.kind import CommandKind
from activities.http.kind import HttpKind
from activities.http.policy import AddressPolicy
from activities.http.signing import Signer
from activities.noop import noop
from duetime.handlers import Handler


def builtin_handlers(
    *, http_allow: str = "", webhook_secrets: Sequence[str] = (), allow_commands: bool = False
) -> list[Handler]:
    """`noop` and `http`, and `command` when the worker was started with `--allow-commands`.

    `http_allow` is `DUETIME_HTTP_ALLOW`. `ValueError` says which setting is wrong and what is allowed.
    """
    http = HttpKind(AddressPolicy.parse(http_allow), Signer(webhook_secrets))
    handlers = [
        Handler("noop", noop, defaults={"lease": "30s", "timeout": "1m"}),
        Handler("http", http.run, defaults={"lease": "30s", "timeout": "5m"}),
    ]
    if allow_commands:
        handlers.append(Handler("command", CommandKind().run, defaults={"lease": "30s", "timeout": "1h"}))
    return handlers
