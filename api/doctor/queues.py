"""Checks of queues, kinds and jobs: pure functions of what was seen (`api.queues.board`)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from api.doctor.backlogs import Trend, slowness
from api.queues.board import Sight
from api.queues.buckets import Bucket
from api.queues.census import Resident
from api.queues.verdict import ON_ITS_WAY, in_words
from duetime.contracts.limits import ORCHESTRATION_QUEUE
from duetime.contracts.queues import Health, QueueList, QueueView
from duetime.doctor.findings import Finding, error, ok, warning

#: Events in the history of one job. The server warns of 10,240 and ends the job at 51,200.
_MANY_EVENTS, _FAR_TOO_MANY_EVENTS = 8_000, 40_000
#: A pause without jobs is a trap for those that come.
_FORGOTTEN = timedelta(days=1)
_SHOWN = 10


def examine_queues(sight: Sight, seen: QueueList, trends: Mapping[str, Trend] | None = None) -> list[Finding]:
    """What is not well with queues, kinds and jobs; a line for each check that finds nothing. `seen` is the queues of
    `sight`, and `trends` are of those whose jobs wait for long."""
    paces = trends or {}
    checks = {
        "workflows": _orchestration(sight, bool(seen.orchestration.workers)),
        "queues": (
            finding
            for queue in seen.queues
            for finding in _queue(queue, paces.get(queue.name), seen.taken_at)
        ),
        "kinds": _kinds(sight),
        "jobs": _overdue(sight, seen.queues),
        "histories": _histories(sight),
    }
    well = {
        "workflows": seen.orchestration.verdict,
        "queues": _served(seen.queues),
        "kinds": f"jobs of every kind find workers that announced it ({len(_kinds_of(sight))} kinds known)",
        "jobs": f"none of {sum(queue.jobs.open for queue in seen.queues):,} open is overdue",
        "histories": "no job's history grows too long",
    }
    found = []
    for check, findings in checks.items():
        told = list(findings)
        found += told or [ok(check, well[check])]
    return found


def _orchestration(sight: Sight, lives: bool) -> Iterator[Finding]:
    if lives:
        return
    says = (
        f"no worker runs the workflows (queue `{ORCHESTRATION_QUEUE}`): due jobs do not come to their queues"
    )
    make = error if sight.census.total else warning
    yield make("workflows", says, "start a worker without --no-workflows: python worker.py")


def _queue(queue: QueueView, trend: Trend | None, now: datetime) -> Iterator[Finding]:
    start = f"python worker.py --queues {queue.name}"
    resume = f"duetime queues resume {queue.name}, or POST /v1/queues/{queue.name}:resume"
    match queue.health:
        case Health.NO_WORKER if queue.jobs.ready:
            fix = f"start one ({start}), or correct the name where the jobs are submitted"
            yield error("queues", queue.verdict, fix)
        case Health.NO_ORCHESTRATOR if not queue.workers:
            yield error(
                "queues",
                f"no worker polls queue `{queue.name}`, for which jobs are due",
                f"start one: {start}",
            )
        case Health.NO_WORKER if queue.jobs.open:
            says = f"{_jobs(queue.jobs.open, 'is', 'are')} to run on queue `{queue.name}` later, and no worker polls it"
            yield warning("queues", says, f"start one in time: {start}")
        case Health.PAUSED if queue.jobs.ready:
            yield warning("queues", queue.verdict, f"resume it: {resume}")
        case Health.PAUSED if queue.jobs.open:
            says = f"{_jobs(queue.jobs.open, 'is', 'are')} to run on queue `{queue.name}`; {queue.verdict}"
            yield warning("queues", says, f"resume it in time: {resume}")
        case Health.PAUSED if queue.pause and now - (queue.pause.since or now) > _FORGOTTEN:
            yield warning("queues", queue.verdict, f"resume it, if it was forgotten: {resume}")
        case Health.BEHIND if not queue.jobs.queued:
            yield warning(
                "queues", queue.verdict, "start more workers without --no-workflows: python worker.py"
            )
        case _ if slow := slowness(queue, trend):
            raising = f"raise its rate: PUT /v1/queues/{queue.name}/rate"
            more = f"start more workers ({start}), or give each more slots (--concurrency)"
            yield warning("queues", slow, raising if queue.health is Health.RATE_LIMITED else more)


def _jobs(count: int, one: str, many: str) -> str:
    """So many jobs, and the verb that goes with them."""
    return f"1 job {one}" if count == 1 else f"{count:,} jobs {many}"


def _served(queues: list[QueueView]) -> str:
    served = [queue.name for queue in queues if queue.workers]
    return f"every queue with jobs is served ({len(served)} of {len(queues)} known queues have workers)"


def _kinds_of(sight: Sight) -> set[str]:
    return {kind for kinds in sight.kinds.values() for kind in kinds}


def _kinds(sight: Sight) -> Iterator[Finding]:
    """Jobs that are due on a queue where workers live, none of which announced their kind."""
    waiting = Counter(
        (one.kind, one.queue)
        for one, _ in sight.census.looked_at
        if _waits_for_a_worker(one, sight) and sight.workers.get(one.queue)
    )
    for (kind, queue), count in waiting.most_common(_SHOWN):
        if kind in sight.kinds.get(queue, []):
            continue
        where = sorted(name for name, kinds in sight.kinds.items() if kind in kinds)
        told = f"it was announced on {', '.join(where)}" if where else "no worker ever announced it"
        waits = _jobs(count, "waits", "wait")
        says = f"{waits} in queue `{queue}`, whose workers have no handler for its kind {kind!r}; {told}"
        yield warning("kinds", says, f"start a worker with a handler for {kind!r} on queue `{queue}`")


def _waits_for_a_worker(one: Resident, sight: Sight) -> bool:
    bucket = one.bucket(sight.census.taken_at, sight.paused)
    refused = one.facts is not None and one.facts.view is not None and one.facts.view.reason == "no_handler"
    return bucket is Bucket.QUEUED or (bucket is Bucket.RETRYING and refused)


def _overdue(sight: Sight, queues: list[QueueView]) -> Iterator[Finding]:
    count = sum(queue.jobs.overdue for queue in queues)
    ages = [queue.oldest_age for queue in queues if queue.jobs.overdue and queue.oldest_age]
    if not count or not ages or max(ages) <= ON_ITS_WAY:
        return
    due = _jobs(count, "is", "are")
    says = f"{due} due and not in a queue yet, the oldest for {in_words(max(ages))}"
    fix = (
        "GET /v1/jobs/{id}/why tells of one; workers that run the workflows are missing, too few, or failing"
    )
    yield error("jobs", says, fix)


def _histories(sight: Sight) -> Iterator[Finding]:
    long = sorted(
        ((facts.events, facts.id) for _, facts in sight.census.looked_at if facts.events >= _MANY_EVENTS),
        reverse=True,
    )
    for events, job_id in long[:_SHOWN]:
        make = error if events >= _FAR_TOO_MANY_EVENTS else warning
        says = f"job {job_id!r} has a history of {events:,} events; the server ends it at 51,200"
        yield make("histories", says, "cancel it, or find out why it is tried so often: GET /v1/jobs/{id}")
