"""What the workflow of a job with items is told: by the pipeline, by an earlier run of itself, and as one part."""

import hashlib
import json
from typing import Any, Literal

from pydantic import Field
from temporalio import workflow

from duetime.contracts import limits
from duetime.contracts.carry import StopRequest
from duetime.contracts.json_value import check_json
from duetime.contracts.pipeline import FAN_OUT, OnFailure, PipelineJob, part_id
from duetime.contracts.pipeline_state import ItemCounts, ItemsEnding, Mark
from duetime.contracts.record import Part
from workflows.children import Planned
from workflows.parts import how_many, slots
from workflows.pipeline_input import Origin
from workflows.planning import checked_items, checked_values, summary
from workflows.room import ITEMS_RETURN
from workflows.values import Found


class Slice(Part):
    """Every `step`th item from `start` on, of the job `of`."""

    of: str
    start: int
    step: int


class FanOutInput(Part):
    """The one argument of workflow type `FanOut`: from the pipeline, and from an earlier run of itself."""

    protocol: Literal[1] = Field(1, alias="$duetime")
    #: The job; its payload still has the references.
    job: PipelineJob
    items: list[Any] = Field(max_length=limits.ITEMS)
    #: What the references to results came to, by their text.
    values: dict[str, Any] = Field(default_factory=dict)
    max_parallel: int
    #: Whether one failed item ends the others.
    stop: bool = False
    origin: Origin
    #: An ended run of this job, whose results are kept.
    resume: str | None = None
    #: From an earlier run of itself.
    done: ItemsEnding | None = None
    #: Whether items may be done without anybody having taken that down.
    look_up: bool = False
    stopped: StopRequest | None = None
    first_error: str | None = None
    #: Among how many parts the items are divided; one runs them itself. Inputs from before there were any have none.
    parts: int = 0
    #: Which items it has when it is a part itself.
    slice: Slice | None = None

    def compact(self) -> dict[str, Any]:
        told = self.model_dump(mode="json", exclude_defaults=True, exclude={"protocol", "done"})
        told |= {"done": self.done.compact()} if self.done else {}
        return {"$duetime": 1} | told

    def digest(self) -> str:
        """Of the list and what is made of it."""
        told = json.dumps([self.origin.run_id, self.items, self.job.payload, self.values], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:32]


def plan_fan_out(
    job: PipelineJob,
    found: Found,
    child_id: str,
    origin: Origin,
    parallel: int,
    on_failure: OnFailure,
    resume: str | None,
) -> Planned:
    """The child for a job that runs for each item; `Unfit` when its list is none, or too long."""
    items = checked_items(found.put_into(job.for_each))
    values = checked_values(found.needed_by(job.payload))
    alone = job.model_copy(update={"for_each": None, "max_parallel": None, "needs": []})
    given = FanOutInput.model_construct(
        job=alone,
        items=items,
        values=values,
        max_parallel=parallel,
        stop=on_failure is OnFailure.STOP,
        origin=origin,
        resume=resume,
        parts=how_many(len(items), parallel),
    )
    return _planned(given, child_id)


def plan_parts(given: FanOutInput, child_id: str, done: ItemsEnding, look_up: bool) -> list[Planned]:
    """The parts among which the items of the job `child_id` are divided, each with what is `done` of its own."""
    parts = []
    for start in range(given.parts):
        mine = slice(start, None, given.parts)
        one = given.model_copy(
            update={
                "items": given.items[mine],
                "max_parallel": slots(given.max_parallel, given.parts, start),
                "resume": None,
                "done": done_of(done, mine),
                "look_up": look_up,
                "parts": 1,
                "slice": Slice(of=child_id, start=start, step=given.parts),
            }
        )
        parts.append(_planned(one, part_id(child_id, start)))
    return parts


def done_of(done: ItemsEnding, mine: slice) -> ItemsEnding:
    """What is done of one part of the items."""
    marks = done.marks[mine]
    if done.results is None:
        # Too large together: a share of what they came to, since the shares are added up again.
        share = 2 + done.size // (mine.step or 1)
        return done.model_copy(update={"marks": marks, "size": share, "counts": ItemCounts()})
    results = done.results[mine]
    kept = [result for mark, result in zip(marks, results, strict=True) if mark == Mark.SUCCEEDED]
    size = 2 + sum(map(listed_bytes, kept))
    return done.model_copy(update={"marks": marks, "results": results, "size": size, "counts": ItemCounts()})


def listed_bytes(result: Any) -> int:
    """What a result adds to the JSON of the list of them."""
    return check_json(result, limits.RESULT_BYTES * 2) + 1


def _planned(given: FanOutInput, child_id: str) -> Planned:
    job = given.job
    told = given.origin.attributes_of(job.job({}), workflow.now())
    what = summary(child_id, f"{job.kind}, {len(given.items):,} items")
    return Planned(FAN_OUT, child_id, [given.compact()], told, job.priority, what, ITEMS_RETURN)
