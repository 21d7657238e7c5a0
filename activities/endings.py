"""How executions ended, for workflows that need more of it than they keep themselves."""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts import limits
from duetime.contracts.instants import format_instant
from duetime.contracts.json_value import JsonTooLarge, check_json
from duetime.contracts.pipeline_state import ITEMS_OF, ItemsEnding
from duetime.contracts.record import Ending, Record
from duetime.contracts.references import RESULT, BadReference, Reference

#: Names of the activities.
RESULTS, LAST_RUN, ITEMS_ENDING = "duetime.results", "duetime.last-run", "duetime.items-ending"

_AT_ONCE = asyncio.Semaphore(20)


class Endings:
    """Reads ended executions; `client` is a connection to their namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=RESULTS)
    async def results(self, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """For each `{"id", "name", "path"}` `{"value"}`, or `{"fault"}` with the reason why there is none.

        `id` is an ended execution of type `Job`, or of `FanOut`, whose result is a list; `path` leads down in it.
        """
        ids = list(dict.fromkeys(each["id"] for each in wanted))
        found = dict(zip(ids, await asyncio.gather(*(self._ending(i) for i in ids)), strict=True))
        answers = [_answer(each, found[each["id"]]) for each in wanted]
        try:
            check_json(answers, limits.ITEM_RESULTS_BYTES, depth=limits.JSON_DEPTH + 5)
        except JsonTooLarge as error:
            return [{"fault": f"the results that it refers to are too large together: {error}"}] * len(wanted)
        return answers

    @activity.defn(name=LAST_RUN)
    async def last_run(self, job_id: str) -> dict[str, Any]:
        """The last execution under an id, once it has ended; empty when there is none.

        `{"run_id", "started_at", "token", "succeeded_in"}`, of which `token` is the highest fencing token of its
        attempts, and `succeeded_in` the run of its parent if it succeeded.
        """
        try:
            described = await self._client.get_workflow_handle(job_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return {}
            raise
        if described.close_time is None:
            raise ApplicationError(
                f"{job_id} is still being ended",
                type="StillOpen",
                category=ApplicationErrorCategory.BENIGN,
                next_retry_delay=timedelta(seconds=1),
            )
        ending = await self._ending(job_id, described.run_id)
        record = Record(attempts=Ending.model_validate(ending).attempts if ending else [])
        succeeded = described.status is WorkflowExecutionStatus.COMPLETED
        return {
            "run_id": described.run_id,
            "started_at": format_instant(described.start_time),
            "token": record.highest_token,
            "succeeded_in": described.parent_run_id if succeeded else None,
        }

    @activity.defn(name=ITEMS_ENDING)
    async def items_ending(self, job_id: str, run_id: str) -> dict[str, Any]:
        """What that ended execution of type `FanOut` left: an `ItemsEnding`, of which a terminated one has no marks."""
        ending = await self._ending(job_id, run_id)
        if ending is None:
            memo = await (await self._client.get_workflow_handle(job_id, run_id=run_id).describe()).memo()
            return dict(memo.get(ITEMS_OF, {}))
        return ending

    async def _ending(self, job_id: str, run_id: str | None = None) -> dict[str, Any] | None:
        """The result of an ended execution, or the details of its failure."""
        handle = self._client.get_workflow_handle(job_id, run_id=run_id, result_type=dict[str, Any])
        try:
            async with _AT_ONCE:
                told = await handle.result(follow_runs=False)
        except WorkflowFailureError as error:
            cause = error.cause
            told = cause.details[0] if isinstance(cause, ApplicationError) and cause.details else None
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        return told if isinstance(told, dict) else None


def _answer(wanted: dict[str, Any], ending: dict[str, Any] | None) -> dict[str, Any]:
    if ending is None:
        return {"fault": f"the result of {wanted['name']!r} is not kept any more"}
    reference = Reference(RESULT, wanted["name"], tuple(wanted["path"]))
    try:
        return {"value": reference.follow(result_of(wanted["name"], ending))}
    except BadReference as error:
        return {"fault": str(error)}


def result_of(name: str, ending: dict[str, Any]) -> Any:
    """The result in the ending of a job, or the results of its items; `BadReference` when they were not kept."""
    if "marks" not in ending:
        return ending.get("result")
    items = ItemsEnding.model_validate(ending)
    if items.results is None:
        raise BadReference(too_large(name, items.size))
    return items.results


def too_large(name: str, size: int) -> str:
    """Why the results of a job that ran for each item were not kept."""
    most = limits.ITEM_RESULTS_BYTES
    return (
        f"the results of {name!r} have {size:,} bytes together; at most {most:,} can be referred to: "
        "store large results elsewhere and return where they are"
    )
