"""The judge: from what was accepted, done and told to a list of broken promises. Pure, so that it can be judged itself.

Where a promise is about time, the server's clock and the machine's time since its boot are compared through one offset:
all processes of the suite are on one machine. What a worker's own wall clock says is nowhere believed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

Row = dict[str, Any]

#: Seconds by which two readings of one machine's clocks may differ.
_SLACK = 0.1


@dataclass(frozen=True)
class Accepted:
    """A job that somebody has an answer for, and what it must have done once it has succeeded."""

    id: str
    kind: str
    ledger: str = ""
    #: How many effects it has, and whether each is checkpointed.
    effects: int = 1
    lease: float = 4.0


@dataclass(frozen=True)
class Silence:
    """A worker that was frozen: from when, till when (machine's time)."""

    worker: str
    begin: float
    end: float


@dataclass
class Evidence:
    accepted: list[Accepted]
    #: Ids that were sent, whether or not an answer came.
    submitted: set[str]
    #: Final jobs as the API shows them, by id.
    jobs: dict[str, Row]
    #: What handlers told, each worker in its order.
    told: list[Row]
    #: Rows of the receivers, by ledger.
    deliveries: dict[str, list[Row]]
    writes: dict[str, list[Row]]
    silences: list[Silence] = field(default_factory=list)
    #: Wall clock minus machine's time.
    wall: float = 0.0


@dataclass(frozen=True)
class Violation:
    promise: str
    job: str
    what: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.job}: {self.what}"


def judge(evidence: Evidence) -> list[Violation]:
    """Every promise that was broken, in the order of the promises."""
    checks = (
        _accepted_means_finished,
        _nothing_unexpected,
        _effects_once,
        _effects_in_order,
        _tokens_in_order,
        _one_at_a_time,
        _every_attempt_is_told,
        _checkpoints_are_kept,
        _handlers_stop_in_time,
    )
    return [violation for check in checks for violation in check(evidence)]


def _accepted_means_finished(evidence: Evidence) -> Iterator[Violation]:
    for job in evidence.accepted:
        found = evidence.jobs.get(job.id)
        if found is None:
            yield Violation("accepted means kept", job.id, "nobody knows it")
        elif found["state"] != "succeeded":
            yield Violation("accepted means kept", job.id, f"{found['state']}: {found['error']}")


def _nothing_unexpected(evidence: Evidence) -> Iterator[Violation]:
    seen = {fact["job"] for fact in evidence.told}
    for row in _all(evidence.deliveries):
        seen.add(row["job"])
    for job in sorted(seen - evidence.submitted):
        yield Violation("nothing unexpected", job, "ran although nobody submitted it")


def _effects_once(evidence: Evidence) -> Iterator[Violation]:
    done: dict[str, list[str]] = defaultdict(list)
    for row in _all(evidence.deliveries):
        done[row["job"]].append(row["key"])
    for job in evidence.accepted:
        keys = done.get(job.id, [])
        for key in sorted({key for key in keys if keys.count(key) > 1}):
            yield Violation("effects once", job.id, f"{key} was delivered {keys.count(key)} times")
        if job.ledger and len(set(keys)) != job.effects:
            yield Violation("effects once", job.id, f"{len(set(keys))} effects instead of {job.effects}")


def _effects_in_order(evidence: Evidence) -> Iterator[Violation]:
    """Within a job, transactions commit in the order of their tokens."""
    for rows in evidence.writes.values():
        last: dict[str, int] = {}
        for row in rows:
            if row["token"] < last.get(row["job"], 0):
                what = f"{row['token']} wrote after {last[row['job']]}"
                yield Violation("stale writes are refused", row["job"], what)
            last[row["job"]] = max(row["token"], last.get(row["job"], 0))


def _tokens_in_order(evidence: Evidence) -> Iterator[Violation]:
    for job_id, job in evidence.jobs.items():
        tokens = [attempt["fencing_token"] for attempt in job["attempts"]]
        if None in tokens or any(a >= b for a, b in _pairs(tokens)):
            yield Violation("tokens grow", job_id, str(tokens))
        numbers = [attempt["number"] for attempt in job["attempts"]]
        if numbers != list(range(1, len(numbers) + 1)):
            yield Violation("every attempt is told", job_id, f"the numbers are {numbers}")


def _one_at_a_time(evidence: Evidence) -> Iterator[Violation]:
    """Each attempt had ended, or lost its lease, when the next one was dispatched."""
    leases = {job.id: job.lease for job in evidence.accepted}
    for job_id, job in evidence.jobs.items():
        for earlier, later in _pairs(job["attempts"]):
            begun, next_begun = _seconds(earlier["started_at"]), _seconds(later["started_at"])
            if earlier["outcome"] in ("running", "succeeded"):
                yield Violation("one at a time", job_id, f"{earlier['outcome']} and then another")
            elif earlier["outcome"] == "lease_lost":
                if next_begun - begun < leases.get(job_id, 0.0) - _SLACK and not _gave_up(earlier, begun):
                    yield Violation("one at a time", job_id, "the next began before the lease was over")
            elif _seconds(earlier["finished_at"]) > next_begun + _SLACK:
                yield Violation("one at a time", job_id, f"{earlier['outcome']} after the next had begun")


def _gave_up(attempt: Row, begun: float) -> bool:
    """A worker that cannot renew gives the job back itself, a little before the server would take it."""
    return attempt["finished_at"] is not None and _seconds(attempt["finished_at"]) > begun


def _every_attempt_is_told(evidence: Evidence) -> Iterator[Violation]:
    """What a handler saw of itself is in its job's list of attempts, which ends with the one that succeeded."""
    for job_id, job in evidence.jobs.items():
        last = job["attempts"][-1]["outcome"] if job["attempts"] else "none"
        if job["state"] == "succeeded" and last != "succeeded":
            yield Violation("every attempt is told", job_id, f"the last one is {last}")
    for fact in evidence.told:
        job = evidence.jobs.get(fact["job"])
        if fact["event"] != "begin" or job is None:
            continue
        listed = {(attempt["fencing_token"], attempt["worker"]) for attempt in job["attempts"]}
        if (fact["token"], fact["worker"]) not in listed:
            yield Violation(
                "every attempt is told", fact["job"], f"{fact['token']} by {fact['worker']} is missing"
            )


def _checkpoints_are_kept(evidence: Evidence) -> Iterator[Violation]:
    """A handler begins with what was saved last by an attempt before it."""
    saved: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for fact in evidence.told:
        if fact["event"] == "saved":
            saved[fact["job"]].append((fact["token"], fact["checkpoint"]))
    for fact in evidence.told:
        if fact["event"] != "begin":
            continue
        before = [checkpoint for token, checkpoint in saved[fact["job"]] if token < fact["token"]]
        if max(before, default=0) > (fact["checkpoint"] or 0):
            what = f"{fact['token']} began with {fact['checkpoint']}, although {max(before)} was saved"
            yield Violation("checkpoints are kept", fact["job"], what)


def _handlers_stop_in_time(evidence: Evidence) -> Iterator[Violation]:
    """A handler had stopped when the next one was dispatched, unless its worker was frozen or dead."""
    ends = {(fact["job"], fact["token"]): fact for fact in evidence.told if fact["event"] == "end"}
    for job_id, job in evidence.jobs.items():
        for earlier, later in _pairs(job["attempts"]):
            end = ends.get((job_id, earlier["fencing_token"]))
            if end is None:
                continue
            begun = _seconds(earlier["started_at"]) - evidence.wall
            over = end["at"] - (_seconds(later["started_at"]) - evidence.wall)
            if over > _SLACK and not _was_silent(evidence.silences, end["worker"], begun, end["at"]):
                yield Violation("handlers stop in time", job_id, f"ran {over:.2f} s into the next attempt")


def _was_silent(silences: Iterable[Silence], worker: str, begin: float, end: float) -> bool:
    return any(one.worker == worker and one.begin < end and begin < one.end for one in silences)


def _all(rows: dict[str, list[Row]]) -> Iterator[Row]:
    for found in rows.values():
        yield from found


def _pairs(items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return pairwise(items)


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()
