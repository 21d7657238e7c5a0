"""Which kinds a worker brings along."""

import pytest

from activities.builtin import builtin_handlers
from activities.noop import NoopRequest, noop
from tests.activities.support import FakeJob


def test_commands_run_only_where_they_are_allowed() -> None:
    assert [handler.kind for handler in builtin_handlers()] == ["noop", "http"]
    assert [handler.kind for handler in builtin_handlers(allow_commands=True)] == ["noop", "http", "command"]


def test_a_wrong_setting_stops_the_start() -> None:
    with pytest.raises(ValueError, match="DUETIME_HTTP_ALLOW"):
        builtin_handlers(http_allow="*")
    with pytest.raises(ValueError, match="webhook secret 1"):
        builtin_handlers(webhook_secrets=["x"])


async def test_noop_takes_anything_and_succeeds() -> None:
    assert await noop(NoopRequest.model_validate({"anything": [1]}), FakeJob()) == {}
