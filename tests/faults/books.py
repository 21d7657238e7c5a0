"""The auditor of the backlog: from an account of our own of every job to what the API may tell of them. Pure.

The account knows of each job when it was called for, when that was answered, and when it ended. A look at the backlog
takes a moment, and the search index, through which it finds jobs, is a moment behind. So each look goes with the open
jobs that the index itself knew just before: one that was there and did not end meanwhile has to be counted, and what
is counted has to be open. Jobs that are parked have one place, whatever happens to everything around them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any

from tests.faults.checker import Evidence, Violation

#: All the places there are: together they are every open job, and there is no rest.
PLACES = ("scheduled", "waiting", "overdue", "limited", "queued", "paused", "running", "retrying")
#: Where a parked job may be whose worker is killed again and again.
RESTLESS = {"running", "retrying", "queued", "overdue"}
#: Places where a job is that could run.
_READY = {"overdue", "queued", "paused"}
#: Seconds by which two readings of one machine's clocks may differ.
_SLACK = 0.1
#: Seconds after which an accepted job has to be in the index, while that can be asked.
_LAG = 20.0
#: Seconds that a cut-off worker may take to tell the server of an ending: until then the job runs.
_TELLING = 15.0
_SHOWN = 40


@dataclass
class Entry:
    """One job in our account; times are the machine's."""

    job: str
    kind: str
    key: str
    queue: str
    #: When somebody first called for it, and when that was answered.
    called: float
    accepted: float | None = None
    ended: float | None = None
    #: Where it stays, if it is parked.
    place: str | None = None

    @property
    def is_alone(self) -> bool:
        """Whether nobody shares its fairness key: the backlog by key tells of it alone."""
        return self.key == self.job

    def under(self, by: str) -> str:
        return {"queue": self.queue, "kind": self.kind, "fairness_key": self.key}[by]

    def is_open_after(self, at: float) -> bool:
        return self.ended is None or self.ended > at


@dataclass(frozen=True)
class Reading:
    """One look at the backlog: when it was asked for and answered, and the open jobs that the index knew before."""

    by: str
    begin: float
    end: float
    answer: Mapping[str, Any]
    indexed: frozenset[str] = frozenset()
    #: When the index was asked.
    probed: float = 0.0

    @property
    def groups(self) -> dict[str, Mapping[str, Any]]:
        return {str(group["name"]): group for group in self.answer["groups"]}


@dataclass
class Books:
    """The account, and what the API said."""

    entries: dict[str, Entry] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)
    #: Looks that nobody answered, and answers that are none.
    unanswered: int = 0
    refusals: list[str] = field(default_factory=list)
    #: Seconds until the backlog told exactly what was left when nothing ran any more; `None` when it never did.
    rested: float | None = None
    #: Parked jobs as the API shows them then.
    parked: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: What was told last then.
    left: Mapping[str, str | None] | None = None

    def close(self, evidence: Evidence) -> None:
        """Takes down when each job ended."""
        for job_id, job in evidence.jobs.items():
            if job["finished_at"] is not None and job_id in self.entries:
                self.entries[job_id].ended = _seconds(job["finished_at"]) - evidence.wall


def audit(books: Books, evidence: Evidence) -> list[Violation]:
    """Everything that the backlog told wrong."""
    steady = _held(evidence)
    known = {by: defaultdict[str, list[Entry]](list) for by in ("queue", "kind", "fairness_key")}
    for entry in books.entries.values():
        for by, groups in known.items():
            groups[entry.under(by)].append(entry)
    found = [Violation("the backlog answers", "", refusal) for refusal in books.refusals]
    if books.rested is None:
        found.append(Violation("the backlog is exact at rest", "", f"{books.left}"))
    for job_id, job in books.parked.items():
        if job["finished_at"] is not None:
            found.append(Violation("what is parked stays", job_id, f"{job['state']}: {job['attempts']}"))
    for reading in books.readings:
        found += _adds_up(reading)
        found += _is_whole(reading, known[reading.by], [*books.entries.values()])
        found += _lag_is_bounded(reading, books.entries.values())
        if reading.by == "fairness_key" and not reading.answer["approximate"]:
            found += _places(reading, books.entries, evidence, steady)
    return found[:_SHOWN]


def _adds_up(reading: Reading) -> Iterator[Violation]:
    """The places are all there are, none is negative, and the groups are the whole."""
    parts = {
        **{name: group["jobs"] for name, group in reading.groups.items()},
        "total": reading.answer["total"],
    }
    for name, jobs in parts.items():
        if set(jobs) != {*PLACES, "open"}:
            yield Violation("the backlog adds up", name, f"places are {sorted(jobs)}")
        elif min(jobs.values()) < 0 or sum(jobs[place] for place in PLACES) != jobs["open"]:
            yield Violation("the backlog adds up", name, f"{jobs}")
    whole = Counter[str]()
    for group in reading.answer["groups"]:
        whole.update(group["jobs"])
    rest = {
        place: told - whole[place] for place, told in reading.answer["total"].items() if told != whole[place]
    }
    if rest:
        yield Violation("the backlog adds up", "total", f"by {reading.by}, in no group: {rest}")


def _is_whole(
    reading: Reading, known: Mapping[str, Sequence[Entry]], everybody: Sequence[Entry]
) -> Iterator[Violation]:
    """As many jobs as were open, in all and in each group."""
    estimated = reading.answer["approximate"]
    yield from _count(reading, "total", everybody, reading.answer["total"]["open"], estimated)
    if estimated:
        return
    groups = reading.groups
    for name in groups.keys() - known.keys():
        yield Violation("nobody else is in the backlog", name, f"a {reading.by} that nobody submitted")
    for name, entries in known.items():
        told = groups[name]["jobs"]["open"] if name in groups else 0
        yield from _count(reading, name, entries, told, False)


def _count(
    reading: Reading, name: str, entries: Iterable[Entry], told: int, estimated: bool
) -> Iterator[Violation]:
    must = may = 0
    for entry in entries:
        must += entry.job in reading.indexed and entry.is_open_after(reading.end + _SLACK)
        may += entry.called < reading.end and entry.is_open_after(reading.begin - _SLACK)
    if told < must:
        yield Violation("nobody is missing from the backlog", name, f"{told} of {must} are told")
    if told > may and not estimated:
        yield Violation("nobody else is in the backlog", name, f"{told} are told, {may} may be open")


def _lag_is_bounded(reading: Reading, entries: Iterable[Entry]) -> Iterator[Violation]:
    for entry in entries:
        lag = _lag(reading, entry)
        if lag is not None and lag > _LAG:
            yield Violation("the index catches up", entry.job, f"not in it {lag:.1f} s after it was accepted")


def _lag(reading: Reading, entry: Entry) -> float | None:
    """For how long the index had not known an open job when it was asked."""
    if entry.accepted is None or entry.job in reading.indexed or not entry.is_open_after(reading.begin):
        return None
    return reading.probed - entry.accepted if entry.accepted < reading.probed else None


def _places(
    reading: Reading,
    entries: Mapping[str, Entry],
    evidence: Evidence,
    steady: Mapping[str, Sequence[tuple[float, float]]],
) -> Iterator[Violation]:
    """Parked jobs are where they are parked; one that a handler had all the while runs, and only such a one."""
    for name, group in reading.groups.items():
        entry = entries.get(name)
        if entry is None or not entry.is_alone or not group["jobs"]["open"]:
            continue
        place = place_of(group["jobs"])
        if entry.place is not None:
            if entry.place != place and not (entry.place == "running" and place in RESTLESS):
                yield Violation("each job is in its place", name, f"{place} instead of {entry.place}")
            elif entry.place != "running":
                yield from _age(entry, group, evidence)
            continue
        held = any(begin < reading.begin and reading.end < end for begin, end in steady.get(name, ()))
        if held and place != "running":
            yield Violation("each job is in its place", name, f"{place} while its handler ran")
        if place == "running" and name in evidence.jobs and not _was_tried(reading, name, evidence):
            yield Violation("each job is in its place", name, "running, and no attempt was under way")


def place_of(jobs: Mapping[str, int]) -> str:
    """Where the one job of a group is."""
    return ", ".join(place for place in PLACES if jobs.get(place)) or "nowhere"


def _age(entry: Entry, group: Mapping[str, Any], evidence: Evidence) -> Iterator[Violation]:
    """One that could run is as old as its acceptance, and the others have no age."""
    since = group["oldest_ready_at"]
    if entry.place not in _READY:
        if since is not None:
            yield Violation("ages are right", entry.job, f"{entry.place}, and could have run since {since}")
        return
    at = None if since is None else _seconds(since) - evidence.wall
    if at is None or not entry.called - _SLACK <= at <= (entry.accepted or entry.called) + _SLACK:
        yield Violation("ages are right", entry.job, f"{since}, and it was submitted at {entry.called}")


def _held(evidence: Evidence) -> dict[str, list[tuple[float, float]]]:
    """When a handler surely had each job: from its first word to its last, in an attempt that kept its lease."""
    kept = {
        (job_id, attempt["fencing_token"]): _seconds(attempt["finished_at"]) - evidence.wall
        for job_id, job in evidence.jobs.items()
        for attempt in job["attempts"]
        if attempt["outcome"] in ("succeeded", "failed") and attempt["finished_at"] is not None
    }
    ends = {(fact["job"], fact["token"]): fact["at"] for fact in evidence.told if fact["event"] == "end"}
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for fact in evidence.told:
        which = (fact["job"], fact["token"])
        if fact["event"] == "begin" and which in kept and which in ends:
            found[fact["job"]].append((fact["at"], min(ends[which], kept[which])))
    return found


def _was_tried(reading: Reading, job_id: str, evidence: Evidence) -> bool:
    spans = [(one["started_at"], one["finished_at"]) for one in evidence.jobs[job_id]["attempts"]]
    return any(
        (begun is None or _seconds(begun) - evidence.wall < reading.end + _SLACK)
        and (finished is None or _seconds(finished) - evidence.wall > reading.begin - _TELLING)
        for begun, finished in spans
    )


def summary(books: Books) -> dict[str, Any]:
    """For the report: how often the backlog was read, and how far behind the index was."""
    lags = [
        lag
        for one in books.readings
        for entry in books.entries.values()
        if (lag := _lag(one, entry)) is not None
    ]
    opened = [reading.answer["total"]["open"] for reading in books.readings]
    return {
        "readings": len(books.readings),
        "unanswered": books.unanswered,
        "estimates": sum(reading.answer["approximate"] for reading in books.readings),
        "most open jobs": max(opened, default=0),
        "times that the index lagged": len(lags),
        "seconds that it lagged, median": round(median(lags), 2) if lags else 0,
        "seconds that it lagged, longest": round(max(lags), 2) if lags else 0,
        "seconds until exact at rest": "never" if books.rested is None else books.rested,
    }


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()
