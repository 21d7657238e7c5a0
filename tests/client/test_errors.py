"""The tree of exceptions, and that no refusal of the API is forgotten in it."""

import inspect
import re
from pathlib import Path

import pytest

from api.problems import _TITLES
from duetime import JobView, State, errors
from duetime.contracts.problem import ProblemView
from duetime.contracts.states import FINAL
from tests.client.test_repeating import JOB

ROOT = Path(__file__).parents[2]
CLASSES = [
    found for _, found in inspect.getmembers(errors, inspect.isclass) if found.__module__ == errors.__name__
]


def test_every_status_that_the_api_answers_has_a_class() -> None:
    assert set(_TITLES) - set(errors.BY_STATUS) == {405, 406}  # faults of ours, which stay what they are


def test_every_problem_that_the_api_names_has_a_class() -> None:
    """By its name, or by the status that goes with it."""
    made = re.compile(r"Problem\(\s*(\d{3}),\s*\"([a-z-]+)\"")
    found = {
        (int(status), name)
        for path in (ROOT / "api").rglob("*.py")
        for status, name in made.findall(path.read_text())
    }
    assert ("409", "id-in-use") not in found
    assert (409, "id-in-use") in found
    unknown = {
        (status, name)
        for status, name in found
        if name not in errors.BY_NAME and status not in errors.BY_STATUS
    }
    # 405, 406, 421 and 500 are faults of whoever set things up, and stay what they are.
    assert {status for status, _ in unknown} <= {405, 406, 408, 421, 500}
    for status, name in found:
        assert type(errors.problem_error(status, name, "t", "d")) in (
            errors.BY_NAME.get(name),
            errors.BY_STATUS.get(status, errors.ApiError),
        )


def test_a_named_class_is_one_of_its_status() -> None:
    for name, status in {"id-in-use": 409, "wrong-state": 409, "idempotency-key-reused": 422}.items():
        assert issubclass(errors.BY_NAME[name], errors.BY_STATUS[status])


def test_the_drawing_is_the_tree() -> None:
    drawing = (errors.__doc__ or "").split("\n\n")[1]
    drawn = re.findall(r"^([│ ├└─]*)([A-Z]\w+)", drawing, re.MULTILINE)
    path: list[str] = []
    parents: dict[str, str] = {}
    for rail, name in drawn:
        depth = len(rail) // 4
        path[depth:] = [name]
        parents[name] = path[depth - 1] if depth else "Exception"
    assert {found.__name__ for found in CLASSES} == set(parents)
    for found in CLASSES:
        assert found.__bases__[0].__name__ == parents[found.__name__]


def test_every_class_says_what_it_is() -> None:
    assert [found.__name__ for found in CLASSES if not found.__doc__] == []


def test_every_final_state_but_success_is_raised() -> None:
    assert set(errors.BY_STATE) == FINAL - {State.SUCCEEDED}
    for state in State:
        job = JobView.model_validate({**JOB, "state": state, "result": 7})
        if state is State.SUCCEEDED:
            assert errors.result_of(job) == 7
        else:
            with pytest.raises(errors.BY_STATE.get(state, errors.WaitTimeout)):
                errors.result_of(job)


def test_members_beyond_the_standard_are_kept() -> None:
    told = ProblemView.model_validate(
        {"status": 503, "type": "urn:duetime:problem:x", "reason": "no_orchestrator"}
    )
    assert (told.name, told.member("reason"), told.member("nothing")) == ("x", "no_orchestrator", None)
    refused = errors.api_error(ProblemView(status=409))
    assert isinstance(refused, errors.Conflict)
    assert refused.job is None
    assert str(refused) == "Conflict (409)"
