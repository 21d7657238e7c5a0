"""What `why` suggests, as a command line of ours: the same call in the words of whoever reads it in a terminal."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from duetime.contracts.why import Suggestion

Body = Mapping[str, Any]


def _limit(name: str, body: Body, field: str) -> list[str]:
    value = "none" if body[field] is None else f"{body[field]:g}"
    return [name, value, "--reason", str(body["reason"])]


#: By call; ids may hold colons.
_COMMANDS: tuple[tuple[str, str, Callable[[str, Body], list[str]]], ...] = (
    ("POST", r"/v1/jobs/(.+):run-now", lambda job, _: ["run-now", job]),
    ("POST", r"/v1/jobs/(.+):cancel", lambda job, _: ["cancel", job]),
    (
        "POST",
        r"/v1/jobs/(.+):retry",
        lambda job, body: ["retry", job, *(["--force"] if body.get("force") else [])],
    ),
    ("POST", r"/v1/pipelines/(.+):retry", lambda pipeline, _: ["pipelines", "retry", pipeline]),
    ("GET", r"/v1/jobs/(.+)/why", lambda job, _: ["why", job]),
    ("PATCH", r"/v1/jobs/(.+)", lambda job, body: ["move", job, "--priority", str(body["priority"])]),
    ("POST", r"/v1/queues/(.+):resume", lambda queue, _: ["queues", "resume", queue]),
    (
        "PUT",
        r"/v1/queues/(.+)/rate",
        lambda queue, body: ["queues", "rate", *_limit(queue, body, "per_second")],
    ),
    (
        "PUT",
        r"/v1/queues/(.+)/concurrency",
        lambda queue, body: ["queues", "concurrency", *_limit(queue, body, "limit")],
    ),
    ("DELETE", r"/v1/queues/(.+)/concurrency", lambda queue, _: ["queues", "concurrency", queue, "none"]),
)


def as_command(suggestion: Suggestion) -> str:
    """A line for a shell; the bare call of one that we have no command for, nothing for advice alone."""
    if suggestion.command is not None:
        return suggestion.command
    if suggestion.method is None or suggestion.path is None:
        return ""
    body = suggestion.body or {}
    for method, path, words in _COMMANDS:
        if method == suggestion.method and (found := re.fullmatch(path, suggestion.path)):
            return shlex.join(["duetime", *words(unquote(found[1]), body)])
    said = f" {shlex.quote(json.dumps(suggestion.body))}" if suggestion.body is not None else ""
    return f"{suggestion.method} {suggestion.path}{said}"
