"""`POST /v1/schedules:preview`: what a rule will do, and in words, without keeping anything."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Body

from api.problems import invalid
from api.routes.schedule_examples import PREVIEW_EXAMPLES
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts import limits
from duetime.contracts.instants import format_instant
from duetime.contracts.preview import FireView, PreviewRequest, PreviewView
from duetime.cron import (
    ZONES_VERSION,
    Fire,
    Rule,
    RuleError,
    check_fires,
    fault_of,
    in_words,
    preview_rule,
    read_fields,
    read_instant,
)
from duetime.cron.compile import compile_rule

router = APIRouter(prefix="/v1", tags=["schedules"], route_class=StrictRoute)


@router.post("/schedules:preview", summary="What a rule will do", operation_id="previewSchedule")
@needs(Scope.READ)
def preview_schedule(
    asked: Annotated[PreviewRequest, Body(openapi_examples=PREVIEW_EXAMPLES)],
) -> PreviewView:
    """The next due times of a rule, the excluded ones between them, and the rule in words. Nothing is kept.

    What this refuses, a schedule refuses too.
    """
    now = datetime.now(UTC)
    rule, start = _read(asked, now)
    seen = preview_rule(rule, start, asked.n, limits.PREVIEWED_FIRES)
    return PreviewView(
        timezone=rule.timezone,
        fires=[_view(fire) for fire in seen.fires],
        ends=seen.ends,
        in_words=in_words(rule),
        warnings=[*rule.warnings, *seen.warnings],
        time_zone_database=ZONES_VERSION,
    )


def _read(asked: PreviewRequest, now: datetime) -> tuple[Rule, datetime]:
    """The rule and the first instant to look at; `422` for a rule that no schedule could have."""
    try:
        rule = read_fields(asked, asked.id)
        start = _start(asked, now)
        check_fires(rule, min(start, now))
        compile_rule(rule, now)
    except RuleError as error:
        raise invalid([fault_of(error)]) from None
    return rule, start


def _start(asked: PreviewRequest, now: datetime) -> datetime:
    if asked.start is None:
        return now
    try:
        return read_instant(asked.start, asked.timezone)
    except ValueError as error:
        raise RuleError(str(error), path=("from",)) from None


def _view(fire: Fire) -> FireView:
    return FireView.model_validate(
        {"utc": format_instant(fire.utc), "local": fire.local.isoformat(), "tags": list(fire.tags)}
    )
