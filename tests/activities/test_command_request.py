"""The payload of `command` and the environment it leads to."""

import pytest
from pydantic import ValidationError

from activities.command.environment import command_environment
from activities.command.request import CommandRequest
from tests.activities.support import FakeJob


@pytest.mark.parametrize(
    ("payload", "field", "says"),
    [
        ({}, "", "exactly one of argv"),
        ({"argv": ["a"], "shell": "a"}, "", "exactly one of argv"),
        ({"argv": []}, "argv", "1"),
        ({"argv": [""]}, "argv", "names the program"),
        ({"argv": "rm -rf /"}, "argv", "list"),
        ({"argv": ["a\0b"]}, "argv", "NUL"),
        ({"argv": ["\ud800"]}, "argv", "surrogates"),
        ({"argv": ["a"], "stdin": "\udfff"}, "stdin", "surrogates"),
        ({"shell": ""}, "shell", "1"),
        ({"shell": "echo \0"}, "shell", "NUL"),
        ({"argv": ["a"], "cwd": "work"}, "cwd", "absolute"),
        ({"argv": ["a"], "cwd": "/a\0"}, "cwd", "NUL"),
        ({"argv": ["a"], "env": {"": "x"}}, "env", "name"),
        ({"argv": ["a"], "env": {"A=B": "x"}}, "env", "name"),
        ({"argv": ["a"], "env": {"A": "x\0"}}, "env", "NUL"),
        ({"argv": ["a"], "env": {"DUETIME_JOB_ID": "x"}}, "env", "DUETIME_JOB_ID"),
        ({"argv": ["a"], "env": {"A": 1}}, "env", "string"),
        ({"argv": ["a"], "success_exit_codes": []}, "success_exit_codes", "1"),
        ({"argv": ["a"], "success_exit_codes": [256]}, "success_exit_codes", "255"),
        ({"argv": ["a"], "success_exit_codes": [-9]}, "success_exit_codes", "0"),
        ({"argv": ["a"], "command": "x"}, "command", "not permitted"),
    ],
)
def test_a_refusal_names_the_field_and_the_way_out(payload: dict[str, object], field: str, says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        CommandRequest.model_validate(payload)
    error = refused.value.errors()[0]
    assert (error["loc"] or ("",))[0] == field
    assert says in str(refused.value)


def test_of_the_workers_environment_only_places_are_inherited() -> None:
    worker = {"PATH": "/opt/bin", "HOME": "/home/w", "TZ": "UTC", "LANG": "", "AWS_SECRET_ACCESS_KEY": "s"}
    worker |= {"DUETIME_API_KEYS": "k", "LD_PRELOAD": "x.so", "PYTHONPATH": "/x", "DUETIME_JOB_ID": "other"}
    assert command_environment(worker, {"MINE": "1", "TZ": "Asia/Tokyo"}, FakeJob()) == {
        "PATH": "/opt/bin",
        "HOME": "/home/w",
        "LANG": "C.UTF-8",
        "TZ": "Asia/Tokyo",
        "MINE": "1",
        "DUETIME_JOB_ID": "job-1",
        "DUETIME_ATTEMPT": "2",
        "DUETIME_FENCING_TOKEN": "1796000000123456",
        "DUETIME_IDEMPOTENCY_KEY": "key-1",
    }
