"""What listeners are told of a job: Server-Sent Events, made of what the job is at a moment.

Nobody keeps a log of a job's events, so an event's id does not name a place in one. It is made of what the event tells,
so every API instance gives the same id to the same news, and whoever comes back with `Last-Event-ID` is told what has
changed since, wherever they come back to. https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from duetime.contracts.states import FINAL
from duetime.contracts.view import JobSummary, JobView

#: Milliseconds until a client whose stream broke comes back.
OPENING = b"retry: 2000\n\n"
KEEP_ALIVE = b": keep-alive\n\n"


@dataclass(frozen=True)
class Moment:
    """A job as it was read."""

    job: JobView

    @property
    def is_final(self) -> bool:
        return self.job.state in FINAL

    @cached_property
    def id(self) -> str:
        """The same for moments between which there is nothing to tell."""
        return f"{self._state}.{self._progress}"

    @cached_property
    def _state(self) -> str:
        job = self.job
        told = job.model_dump(
            mode="json", include={"run_id", "state", "due_at", "next_attempt_at", "priority"}
        )
        return _mark([told, [[attempt.number, attempt.outcome] for attempt in job.attempts]])

    @cached_property
    def _progress(self) -> str:
        return _mark(self.job.progress.model_dump(mode="json") if self.job.progress else None)

    def since(self, seen: str | None) -> bytes | None:
        """The event for whoever saw the event `seen` last; `None` when there is no news."""
        if seen == self.id:
            return None
        if self.is_final:
            return self._event("done")
        return self._event("progress" if seen and seen.startswith(f"{self._state}.") else "state")

    def _event(self, name: str) -> bytes:
        return f"id: {self.id}\nevent: {name}\ndata: {self._data}\n\n".encode()

    @cached_property
    def _data(self) -> str:
        """One line of JSON: the whole job at its end, its summary until then."""
        told = self.job if self.is_final else JobSummary.of(self.job)
        return json.dumps(told.model_dump(mode="json"), separators=(",", ":"))


def _mark(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
