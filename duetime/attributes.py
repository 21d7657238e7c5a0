"""The search attributes that jobs carry: one list, because the server's room for them is a budget.

A namespace on SQL visibility has 10 `Keyword` columns and 3 of every other type, shared with whatever else
lives there (https://docs.temporal.io/search-attribute). What people filter by is here; everything else a job
knows is read from its execution.
"""

from datetime import datetime
from typing import Any

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from duetime.contracts.job import JobSpec
from duetime.tags import index_tag

KIND = SearchAttributeKey.for_keyword("DuetimeKind")
QUEUE = SearchAttributeKey.for_keyword("DuetimeQueue")
#: Final states that the execution status alone cannot tell: `expired` and `skipped`.
OUTCOME = SearchAttributeKey.for_keyword("DuetimeOutcome")
FAIRNESS_KEY = SearchAttributeKey.for_keyword("DuetimeFairnessKey")
#: The server's own, which it sets on what its schedules start; they cost none of the room, and we may set them too.
SCHEDULE_ID = SearchAttributeKey.for_keyword("TemporalScheduledById")
NOMINAL_TIME = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")
PIPELINE_ID = SearchAttributeKey.for_keyword("DuetimePipelineId")
#: In the spelling of `duetime.tags`.
TAGS = SearchAttributeKey.for_keyword_list("DuetimeTags")
DUE_AT = SearchAttributeKey.for_datetime("DuetimeDueAt")

ALL = (
    KIND,
    QUEUE,
    OUTCOME,
    FAIRNESS_KEY,
    PIPELINE_ID,
    TAGS,
    DUE_AT,
)


def of_job(
    spec: JobSpec,
    due_at: datetime,
    *,
    nominal_time: datetime | None = None,
    pipeline_id: str | None = None,
    schedule_id: str | None = None,
) -> TypedSearchAttributes:
    """The search attributes of a job, and what made it."""
    found: list[SearchAttributePair[Any]] = [
        SearchAttributePair(KIND, spec.kind),
        SearchAttributePair(QUEUE, spec.queue),
        SearchAttributePair(DUE_AT, due_at),
    ]
    if spec.tags:
        found.append(SearchAttributePair(TAGS, [index_tag(tag) for tag in dict.fromkeys(spec.tags)]))
    if spec.fairness_key:
        found.append(SearchAttributePair(FAIRNESS_KEY, spec.fairness_key))
    if nominal_time:
        found.append(SearchAttributePair(NOMINAL_TIME, nominal_time))
    if schedule_id:
        found.append(SearchAttributePair(SCHEDULE_ID, schedule_id))
    if pipeline_id:
        found.append(SearchAttributePair(PIPELINE_ID, pipeline_id))
    return TypedSearchAttributes(found)
