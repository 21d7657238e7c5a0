"""From a request to the plan of an operation: which jobs, said in a query, and nothing that makes no sense."""

from datetime import UTC, datetime, timedelta
from typing import Any

from api.bulk.requests import BulkCancel, BulkRedrive, Selection
from api.jobs import query
from api.problems import invalid
from duetime.contracts.bulk import LONGEST, MOST_JOBS, Plan
from duetime.contracts.requests import CancelRequest, RedriveRequest
from duetime.contracts.states import FINAL, OPEN, State

_USUAL = frozenset({State.FAILED, State.EXPIRED})


def redrive_plan(request: BulkRedrive) -> Plan:
    """The plan of a redrive; a `422` problem for states that are not final, and for no filter at all."""
    _check_filter(request.filter)
    states = frozenset(request.filter.state) or _USUAL
    if wrong := sorted(states - FINAL):
        raise _wrong_states(wrong, "only final jobs can be redriven", FINAL)
    if State.SUCCEEDED in states and not request.force:
        message = 'send "force": true to run succeeded jobs again all the same'
        raise invalid([{"pointer": "/filter/state", "message": message}])
    if request.run_id is not None:
        message = "is for the redrive of one job"
        raise invalid([{"pointer": "/run_id", "message": message}])
    text = query.all_of(query.jobs(request.filter), query.NOT_CONTINUED, query.finished(states))
    how = _part(request, RedriveRequest)
    return _plan("retry", text, [], how, request.dry_run, request.rate, request.canary)


def cancel_plan(request: BulkCancel) -> Plan:
    """The plan of a cancellation; a `422` problem for states that are final, and for no filter at all."""
    _check_filter(request.filter)
    states = frozenset(request.filter.state) or OPEN
    if wrong := sorted(states - OPEN):
        raise _wrong_states(wrong, "only open jobs can be cancelled", OPEN)
    text = query.all_of(query.jobs(request.filter), query.open_in(states, datetime.now(UTC)))
    looked_at = sorted(states) if states != OPEN else []
    return _plan(
        "cancel", text, looked_at, _part(request, CancelRequest), request.dry_run, request.rate, None
    )


def check_size(count: int, plan: Plan) -> None:
    """A `422` problem for more jobs than an operation takes, in number or in time."""
    if count > MOST_JOBS:
        message = (
            f"holds {count:,} jobs; an operation takes {MOST_JOBS:,}: narrow it, by kind or time for example"
        )
        raise invalid([{"pointer": "/filter", "message": message}])
    if timedelta(seconds=count / plan.rate) > LONGEST:
        message = f"{count:,} jobs at {plan.rate:g} a second take longer than {LONGEST.days} days"
        raise invalid([{"pointer": "/rate", "message": message}])


def _plan(
    action: Any, text: str, states: list[State], how: Any, dry_run: bool, rate: float, canary: int | None
) -> Plan:
    return Plan.model_validate(
        {
            "$duetime": 1,
            "action": action,
            "query": text,
            "states": states,
            "how": how,
            "dry_run": dry_run,
            "rate": rate,
            "canary": canary,
        }
    )


def _check_filter(chosen: Selection) -> None:
    if not chosen.said():
        message = "name what the jobs have in common; all jobs are those of every `state`"
        raise invalid([{"pointer": "/filter", "message": message}])


def _wrong_states(wrong: list[State], why: str, right: frozenset[State]) -> Exception:
    message = f"{', '.join(wrong)}: {why}, in {', '.join(sorted(right))}"
    return invalid([{"pointer": "/filter/state", "message": message}])


def _part(request: Any, model: Any) -> dict[str, Any]:
    """What of `request` concerns each job."""
    told: dict[str, Any] = request.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    names = {field.alias or name for name, field in model.model_fields.items()}
    return {name: value for name, value in told.items() if name in names}
