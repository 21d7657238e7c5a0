"""Results that jobs of a pipeline refer to: kept as long as somebody may still need them, else read when it is time."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import workflow

from activities.endings import RESULTS, result_of
from duetime.contracts import limits
from duetime.contracts.pipeline import PipelineSpec, job_id
from duetime.contracts.pipeline_state import FINAL_MARKS, Mark
from duetime.contracts.references import ITEM, RESULT, BadReference, Reference, references, resolve
from duetime.graph import Graph
from workflows.children import Ended
from workflows.planning import bad_reference

#: A replay mark: before it, each job read for itself what it refers to.
_PATCH = "results-read-once"

#: Room in the history for so many bytes.
Room = Callable[[int], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class Found:
    """What the references of one job came to, by their text."""

    values: Mapping[str, Any]

    def put_into(self, template: Any) -> Any:
        """`template` with the results in it."""
        return resolve(template, lambda reference: self.values[str(reference)])

    def needed_by(self, template: Any) -> dict[str, Any]:
        """Of the values those that `template` refers to."""
        texts = {str(reference) for reference in references(template) if reference.marker == RESULT}
        return {text: value for text, value in self.values.items() if text in texts}


def put_item(template: Any, item: Any, values: Mapping[str, Any]) -> Any:
    """`template` with the results and the item in it; `BadReference` when the item has not what is asked of it."""
    return resolve(template, lambda told: told.follow(item) if told.marker == ITEM else values[str(told)])


class Values:
    """The results of one pipeline's jobs."""

    def __init__(self, spec: PipelineSpec, graph: Graph, pipeline_id: str, room: Room) -> None:
        self._spec, self._graph, self._id, self._room = spec, graph, pipeline_id, room
        self._results: dict[str, Any] = {}
        #: What is being read, or was, of jobs that others may still refer to: by job and text of the reference.
        self._reading: dict[str, dict[str, asyncio.Task[dict[str, Any]]]] = {}
        #: Jobs that ended before this run of the pipeline: what they left is read from their executions.
        self._elsewhere = {name for name, mark in graph.marks.items() if mark in FINAL_MARKS}
        self._references = {
            name: [*references(job.payload), *references(job.for_each)] for name, job in spec.jobs.items()
        }
        #: How many jobs that have not ended refer to each.
        self._wanted: dict[str, int] = {}
        for name in spec.jobs:
            for source in self._sources(name):
                self._wanted[source] = self._wanted.get(source, 0) + 1
        self._let_go = 0
        self.settle()

    def learn(self, name: str, ended: Ended) -> None:
        """A job has ended: what it left is kept if one that has not may refer to it."""
        if self._wanted.get(name):
            self._results[name] = ended.left

    def settle(self) -> None:
        """Lets go of what only jobs refer to that have ended."""
        ended = self._graph.settled[self._let_go :]
        self._let_go += len(ended)
        for name in ended:
            for source in self._sources(name):
                self._wanted[source] -= 1
                if not self._wanted[source]:
                    self._results.pop(source, None)
                    self._reading.pop(source, None)

    async def of(self, name: str) -> Found:
        """What the references of a job come to; `Unfit` when one leads nowhere.

        A job that did not succeed has no result: references to it are null, but for those to the results of its items.
        """
        values: dict[str, Any] = {}
        asked: list[Reference] = []
        for reference in self._references[name]:
            source = reference.name
            if reference.marker == ITEM:
                continue
            if not self._has_result(source):
                values[str(reference)] = None
            elif source in self._results:
                values[str(reference)] = _follow(reference, self._results[source])
            else:
                asked.append(reference)
        return Found(values | await self._read(asked))

    def _sources(self, name: str) -> set[str]:
        return {reference.name for reference in self._references[name] if reference.marker == RESULT}

    def _has_result(self, name: str) -> bool:
        mark = self._graph.marks[name]
        if mark is Mark.SUCCEEDED:
            return True
        with_items = self._spec.jobs[name].for_each is not None
        ran_badly = mark in (Mark.FAILED, Mark.CANCELLED, Mark.EXPIRED)
        return (
            with_items and ran_badly and (name in self._elsewhere or "marks" in self._results.get(name, {}))
        )

    async def _read(self, asked: list[Reference]) -> dict[str, Any]:
        if not asked:
            return {}
        if not workflow.patched(_PATCH):
            return self._checked(asked, await self._read_now(asked))
        fresh = [r for r in asked if str(r) not in self._reading.get(r.name, {})]
        if fresh:
            task = asyncio.create_task(self._read_once(fresh))
            for reference in fresh:
                self._reading.setdefault(reference.name, {})[str(reference)] = task
        tasks = {str(r): self._reading[r.name][str(r)] for r in asked}
        return self._checked(asked, {text: (await task)[text] for text, task in tasks.items()})

    async def _read_once(self, asked: list[Reference]) -> dict[str, Any]:
        """For all that refer to the same: a result is in the history once. After a failure others may try again."""
        try:
            async with self._room(limits.ITEM_RESULTS_BYTES):
                return await self._read_now(asked)
        except BaseException:
            for reference in asked:
                self._reading.get(reference.name, {}).pop(str(reference), None)
            raise

    async def _read_now(self, asked: list[Reference]) -> dict[str, Any]:
        wanted = [{"id": job_id(self._id, r.name), "name": r.name, "path": list(r.path)} for r in asked]
        answers = await read_results(wanted)
        return {str(reference): answer for reference, answer in zip(asked, answers, strict=True)}

    def _checked(self, asked: list[Reference], answers: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for reference in asked:
            answer = answers[str(reference)]
            if "fault" in answer and self._graph.marks[reference.name] is Mark.SUCCEEDED:
                raise bad_reference(BadReference(answer["fault"]))
            found[str(reference)] = answer.get("value")
        return found


async def read_results(wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results of executions that have ended, as the activity gives them."""
    answers: list[dict[str, Any]] = await workflow.execute_activity(
        RESULTS,
        wanted,
        result_type=list[dict[str, Any]],
        start_to_close_timeout=timedelta(minutes=1),
        summary="results of an earlier run",
    )
    return answers


def _follow(reference: Reference, left: dict[str, Any]) -> Any:
    try:
        return reference.follow(result_of(reference.name, left))
    except BadReference as error:
        raise bad_reference(error) from None
