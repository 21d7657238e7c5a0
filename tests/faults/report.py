"""What a run of the suite has to show: one JSON document, and the same as a table to read."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

from tests.faults.checker import Evidence, Violation
from tests.faults.injection import Fault
from tests.faults.load import Load


def report(
    load: Load, faults: Sequence[Fault], evidence: Evidence, violations: Sequence[Violation], seconds: float
) -> dict[str, Any]:
    """Everything a reader may ask, as plain JSON."""
    attempts = [attempt for job in evidence.jobs.values() for attempt in job["attempts"]]
    keys = Counter(row["key"] for rows in evidence.deliveries.values() for row in rows)
    writes = Counter(row["job"] for rows in evidence.writes.values() for row in rows)
    return {
        "seed": load.seed,
        "seconds": round(seconds),
        "jobs": {
            "submitted": len(load.submitted),
            "accepted": len(load.accepted),
            "calls repeated": load.repeated,
            "succeeded": sum(job["state"] == "succeeded" for job in evidence.jobs.values()),
        },
        "attempts": {"all": len(attempts)} | dict(Counter(attempt["outcome"] for attempt in attempts)),
        "effects": {
            "keys": len(keys),
            "delivered twice": sum(count > 1 for count in keys.values()),
            "transactions": sum(writes.values()),
        },
        "faults": dict(Counter(fault.kind for fault in faults)),
        "recovery": {
            kind: _recovery(kind, faults, evidence) for kind in dict.fromkeys(f.kind for f in faults)
        },
        "violations": [str(violation) for violation in violations],
    }


def _recovery(kind: str, faults: Sequence[Fault], evidence: Evidence) -> dict[str, float]:
    """Seconds from the end of a fault until the last of the jobs that it hit was done."""
    spans = [span for fault in faults if fault.kind == kind for span in _spans(fault, evidence)]
    if not spans:
        return {}
    return {"jobs hit": len(spans), "median": round(median(spans), 1), "longest": round(max(spans), 1)}


def _spans(fault: Fault, evidence: Evidence) -> list[float]:
    """For each job that had begun and not ended on a worker that was hit: how long after the fault it was done."""
    ended = {(fact["job"], fact["token"]): fact["at"] for fact in evidence.told if fact["event"] == "end"}
    done: dict[str, float] = {}
    for fact in evidence.told:
        if fact["event"] == "end" and fact["how"] == "returned":
            done[fact["job"]] = max(fact["at"], done.get(fact["job"], 0.0))
    spans = []
    for fact in evidence.told:
        if fact["event"] != "begin" or fact["at"] > fault.begin:
            continue
        if fault.workers and fact["worker"] not in fault.workers:
            continue
        if ended.get((fact["job"], fact["token"]), fault.end + 1) > fault.begin and fact["job"] in done:
            spans.append(max(0.0, done[fact["job"]] - fault.end))
    return spans


def _said(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:,}"


def as_text(document: dict[str, Any]) -> str:
    """The report as tables of Markdown."""
    lines = [f"seed {document['seed']}, {document['seconds']} s", "", "| | |", "| --- | --- |"]
    for part in ("jobs", "attempts", "effects", "backlog"):
        lines += [f"| {part}: {name} | {_said(value)} |" for name, value in document.get(part, {}).items()]
    lines += [
        "",
        "| fault | times | jobs hit | median recovery | longest |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, times in document["faults"].items():
        found = document["recovery"].get(kind) or {"jobs hit": 0, "median": "–", "longest": "–"}
        lines.append(
            f"| {kind} | {times} | {found['jobs hit']} | {found['median']} s | {found['longest']} s |"
        )
    if replay := document.get("replay"):
        lines += ["", f"{replay['histories']} histories replayed, the longest of {replay['longest']} events"]
    lines += ["", f"violations: {len(document['violations'])}", *document["violations"][:50]]
    return "\n".join(lines) + "\n"
