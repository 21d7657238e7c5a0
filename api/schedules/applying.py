"""Many schedules as one desired state: read what is there, say what differs, and make it so."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from temporalio.service import RPCError

from api.patience import in_time
from api.problems import Problem, from_rpc, invalid
from api.schedules.checking import below, graph_faults
from api.schedules.commands import Commander
from api.schedules.reading import ScheduleReader
from duetime.contracts.explain import FAULTS, Fault, bounded
from duetime.contracts.problem import ProblemView
from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_sets import (
    AppliedView,
    ChangedSchedule,
    FailedSchedule,
    FieldChange,
    NamedSchedule,
    ScheduleSet,
)
from duetime.cron import RuleError, check_fires, fault_of, read_fields
from duetime.schedules.desired import Difference, Steps, steps_to

#: Calls of the server under way at the same time for one `apply`.
_AT_ONCE = 8
#: Seconds after which nothing more is begun.
PATIENCE = 10.0


@dataclass
class _Outcome:
    """What became of each schedule so far."""

    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)
    failed: dict[str, Problem] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Applier:
    """Makes schedules what `reader.caller` wants them to be. Those that it may not see are never touched."""

    reader: ScheduleReader
    commander: Commander

    async def apply(self, wanted: ScheduleSet, given: Sequence[Mapping[str, Any]], by: str) -> AppliedView:
        """`given` are the schedules as they were sent. A problem when one cannot be, and then nothing is touched."""
        desired = {named.id: named for named in wanted.schedules}
        _check_ids(wanted)
        self._check_rights(wanted.schedules)
        current = await self._current(desired, wanted.prune)
        steps = steps_to(desired, current, wanted.prune)
        await asyncio.to_thread(_check_rules, wanted.schedules, steps)
        if wanted.dry_run:
            done = _Outcome(steps.created, list(steps.changed), steps.unchanged, steps.pruned)
        else:
            raw = {str(one["id"]): {k: v for k, v in one.items() if k != "id"} for one in given}
            done = await self._carry_out(steps, desired, raw, by)
        return _view(wanted.dry_run, steps, done)

    def _check_rights(self, schedules: Sequence[NamedSchedule]) -> None:
        for index, named in enumerate(schedules):
            try:
                self.commander.work.check_caller(named, self.reader.caller)
            except Problem as problem:
                raise below(problem, f"/schedules/{index}") from None

    async def _current(self, desired: Mapping[str, Any], prune: bool) -> dict[str, ScheduleSpec]:
        """The schedules that are named, exactly as they are now; all others too where they are to be pruned."""
        found: dict[str, ScheduleSpec] = {}
        if prune:
            found = {book.id: book.parsed async for book in self.reader.books() if book.id not in desired}
        gate = asyncio.Semaphore(_AT_ONCE)

        async def look(schedule_id: str) -> None:
            async with gate:
                book = await self.reader.find(schedule_id)
            if book is not None and self.reader.sees(book):
                found[schedule_id] = book.parsed

        async with _unwrapped(), asyncio.TaskGroup() as group:
            for schedule_id in desired:
                group.create_task(look(schedule_id))
        return found

    async def _carry_out(
        self, steps: Steps, desired: Mapping[str, ScheduleSpec], raw: Mapping[str, Any], by: str
    ) -> _Outcome:
        done = _Outcome(unchanged=list(steps.unchanged))
        until = asyncio.get_running_loop().time() + PATIENCE
        waiting = [*steps.created, *steps.changed, *steps.pruned][::-1]

        async def work() -> None:
            while waiting:
                schedule_id = waiting.pop()
                if asyncio.get_running_loop().time() > until or _is_hopeless(done):
                    done.left.append(schedule_id)
                    continue
                try:
                    if schedule_id in desired:
                        await self._put(schedule_id, desired[schedule_id], raw[schedule_id], by, done)
                    else:
                        await self._delete(schedule_id)
                        done.pruned.append(schedule_id)
                except RPCError as error:
                    done.failed[schedule_id] = from_rpc(error)
                except Problem as problem:
                    done.failed[schedule_id] = problem

        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(work())
        return done

    async def _put(self, schedule_id: str, spec: ScheduleSpec, given: Any, by: str, done: _Outcome) -> None:
        told = await self.commander.put(schedule_id, spec, given, None, by)
        which = done.created if told.created else done.changed if told.changed else done.unchanged
        which.append(schedule_id)

    @in_time()
    async def _delete(self, schedule_id: str) -> None:
        await self.commander.tell(schedule_id, "delete", None)


def _is_hopeless(done: _Outcome) -> bool:
    """Whether nothing that is tried now can succeed."""
    return any(problem.status == 503 for problem in done.failed.values())


class _unwrapped:
    """The first failure of a group of tasks as it was raised."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if isinstance(error, BaseExceptionGroup):
            raise error.exceptions[0] from None


def _check_ids(wanted: ScheduleSet) -> None:
    if wanted.prune and not wanted.schedules:
        message = "with no schedules at all this would delete every one there is: delete them by their ids"
        raise invalid([{"pointer": "/prune", "message": message}])
    seen: set[str] = set()
    for index, named in enumerate(wanted.schedules):
        if named.id in seen:
            pointer = f"/schedules/{index}/id"
            raise invalid([{"pointer": pointer, "message": f"{named.id} is there twice"}])
        seen.add(named.id)


def _check_rules(schedules: Sequence[NamedSchedule], steps: Steps) -> None:
    """A `422` problem with the faults of all rules, and of all graphs of pipelines, that are new or changed."""
    now = datetime.now(UTC)
    new, faults = set(steps.created), list[Fault]()
    for index, named in enumerate(schedules):
        if named.id in steps.changed or named.id in new:
            try:
                rule = read_fields(named, named.id)
                if named.id in new:
                    check_fires(rule, now)
            except RuleError as error:
                faults.append(fault_of(error, "schedules", index))
            found = graph_faults(named.id, named)
            faults += [fault | {"pointer": f"/schedules/{index}{fault['pointer']}"} for fault in found]
    if faults:
        raise invalid(bounded(faults[:FAULTS], len(faults)))


def _view(dry_run: bool, steps: Steps, done: _Outcome) -> AppliedView:
    order = {name: place for place, name in enumerate([*steps.created, *steps.changed, *steps.unchanged])}
    return AppliedView(
        dry_run=dry_run,
        created=sorted(done.created, key=order.__getitem__),
        changed=[
            ChangedSchedule(id=name, changes=[_change(one) for one in steps.changed.get(name, [])])
            for name in sorted(done.changed, key=order.__getitem__)
        ],
        unchanged=sorted(done.unchanged, key=order.__getitem__),
        pruned=sorted(done.pruned),
        failed=[
            FailedSchedule(id=name, problem=ProblemView.model_validate(problem.body()))
            for name, problem in sorted(done.failed.items())
        ],
        left=sorted(done.left),
    )


def _change(one: Difference) -> FieldChange:
    return FieldChange.model_validate({"pointer": one.pointer, "from": one.before, "to": one.after})
