"""From what was seen of queues to what is answered: pure functions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Literal

from api.queues.board import Sight
from api.queues.buckets import Bucket
from api.queues.census import Resident
from api.queues.lanes import Lane
from api.queues.reasons import NO_HANDLER
from api.queues.verdict import Standing, age, drains_in, health_of, sentence
from api.queues.workers import Worker
from duetime.contracts.concurrency import QueueConcurrency
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.queues import (
    Backlog,
    BacklogGroup,
    BacklogView,
    ConcurrencyView,
    Health,
    OrchestrationView,
    Pace,
    PauseView,
    QueueList,
    QueueView,
    RateView,
    WorkerView,
)

By = Literal["queue", "kind", "fairness_key"]

KEYS: Mapping[By, Callable[[Resident], str | None]] = {
    "queue": lambda resident: resident.queue,
    "kind": lambda resident: resident.kind,
    "fairness_key": lambda resident: resident.fairness_key,
}


def queue_views(sight: Sight, names: Iterable[str]) -> list[QueueView]:
    """These queues, whether or not anything is known of them."""
    counted, oldest = backlogs(sight, "queue"), sight.census.oldest(KEYS["queue"])
    refused = unhandled(sight)
    return [_queue(sight, _standing(name, sight, counted, oldest, refused.get(name, {}))) for name in names]


def queue_list(sight: Sight) -> QueueList:
    """All queues, and who runs the workflows."""
    return QueueList(
        queues=queue_views(sight, sight.lanes),
        orchestration=_orchestration(sight),
        taken_at=sight.census.taken_at,
    )


def unhandled(sight: Sight) -> dict[str, Counter[str]]:
    """By queue, the kinds of jobs that its workers gave back for want of a handler, which nobody brought since."""
    found: dict[str, Counter[str]] = {}
    for one, facts in sight.census.looked_at:
        refused = facts.view is not None and facts.view.reason == NO_HANDLER
        waits = one.bucket(sight.census.taken_at, sight.paused) in (Bucket.QUEUED, Bucket.RETRYING)
        if refused and waits and one.kind not in sight.kinds.get(one.queue, []):
            found.setdefault(one.queue, Counter())[one.kind] += 1
    return found


def _standing(
    name: str,
    sight: Sight,
    counted: Mapping[str | None, Backlog],
    oldest: Mapping[str | None, datetime],
    refused: Mapping[str, int],
) -> Standing:
    lane, now, since = sight.lanes.get(name) or Lane(name), sight.census.taken_at, oldest.get(name)
    if not sight.census.is_exact and lane.backlog:
        # The oldest may not be among those that were looked at; the server knows the first task of its backlog.
        since = min(since or now, now - lane.backlog_age)
    return Standing(
        lane=lane,
        jobs=counted.get(name, Backlog()),
        workers=sight.workers.get(name, []),
        orchestrators=sight.orchestrators,
        now=now,
        oldest_ready_at=since,
        unhandled=refused,
    )


def _queue(sight: Sight, at: Standing) -> QueueView:
    lane = at.lane
    return QueueView(
        name=lane.name,
        health=health_of(at),
        verdict=sentence(at),
        jobs=at.jobs,
        approximate=not sight.census.is_exact,
        oldest_ready_at=at.oldest_ready_at,
        oldest_age=at.oldest_age,
        drains_in=drains_in(at),
        pace=Pace(
            arrivals=round(lane.arrivals, 3),
            starts=round(lane.starts, 3),
            completions=round(sight.completions.get(lane.name, 0.0), 3),
        ),
        pause=_pause(lane),
        rate=_rate(lane),
        concurrency=_concurrency(sight.limits.get(lane.name)),
        slots=at.slots,
        busy=at.busy,
        workers=[_worker(worker) for worker in at.workers],
        kinds=sight.kinds.get(lane.name, []),
    )


def _orchestration(sight: Sight) -> OrchestrationView:
    workers = sight.orchestrators
    overdue = sum(jobs.overdue for jobs in backlogs(sight, "queue").values())
    health = Health.OK if workers else Health.NO_ORCHESTRATOR
    if workers:
        verdict = f"{len(workers)} worker{' runs' if len(workers) == 1 else 's run'} the workflows"
    else:
        waits = f"; {overdue:,} due job{' waits' if overdue == 1 else 's wait'} for one" if overdue else ""
        verdict = f"no worker runs the workflows (queue `{ORCHESTRATION_QUEUE}`){waits}"
    return OrchestrationView(health=health, verdict=verdict, workers=[_worker(worker) for worker in workers])


def backlog_view(sight: Sight, by: By) -> BacklogView:
    """All open jobs in groups."""
    groups, oldest, now = backlogs(sight, by), sight.census.oldest(KEYS[by]), sight.census.taken_at
    return BacklogView(
        by=by,
        groups=[
            BacklogGroup(
                name=name,
                jobs=groups[name],
                oldest_ready_at=oldest.get(name),
                oldest_age=age(oldest.get(name), now),
            )
            for name in sorted(groups, key=lambda name: (name is None, name or ""))
        ],
        total=_sum(groups.values()),
        approximate=not sight.census.is_exact,
        taken_at=now,
    )


def backlogs(sight: Sight, by: By) -> dict[str | None, Backlog]:
    """Open jobs by where they are, for each group."""
    tallies = sight.census.tally(KEYS[by], sight.paused)
    return {name: _backlog(tally) for name, tally in tallies.items()}


def _backlog(tally: Mapping[Bucket, int]) -> Backlog:
    return Backlog.model_validate({bucket.value: count for bucket, count in tally.items()})


def _sum(parts: Iterable[Backlog]) -> Backlog:
    parts = list(parts)
    return _backlog({bucket: sum(getattr(part, bucket.value) for part in parts) for bucket in Bucket})


def _pause(lane: Lane) -> PauseView | None:
    if not lane.limit.is_paused:
        return None
    note = lane.limit.note
    return PauseView(since=lane.limit.paused_since, reason=note.reason, by=note.by)


def _rate(lane: Lane) -> RateView | None:
    """The limit that somebody chose, or the one that a paused queue goes back to."""
    limit, note = lane.limit, lane.limit.note
    if limit.is_paused:
        if note.rate is None:
            return None
        return RateView(per_second=note.rate, source="api", reason=note.rate_reason, by=note.rate_by)
    if limit.rate is not None:
        return RateView(per_second=limit.rate, source="api", reason=note.reason, by=note.by)
    return RateView(per_second=lane.rate, source="worker") if lane.rate is not None else None


def _concurrency(setting: QueueConcurrency | None) -> ConcurrencyView | None:
    return ConcurrencyView.model_validate(setting.model_dump()) if setting else None


def _worker(worker: Worker) -> WorkerView:
    return WorkerView(
        identity=worker.identity,
        host=worker.host or None,
        started_at=worker.started_at,
        seen_at=worker.seen_at,
        told_by=worker.told_by,
        slots=worker.slots,
        busy=worker.busy,
    )
