"""When a queue was paused: told in the reason that the server keeps with the queue's rate limit.

The server keeps one reason with the limit of a task queue, and the limit itself: 0 pauses it. It keeps no history, and
whoever asks later how long a job could not have been taken needs one. So the reason is what somebody said, and after it
a mark with the last pauses: one write of the server changes the limit and its account together.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from duetime.contracts.instants import EPOCH

#: The server's bound for the whole, in bytes.
_BOUND = 1000
#: What somebody may say, and who they are, in bytes of UTF-8.
REASON_BYTES = 400
WHO_BYTES = 100
_MARK = "\n[duetime] "
_MILLISECOND = timedelta(milliseconds=1)
#: Pauses kept; fewer when a long reason leaves no room.
_KEPT = 12


@dataclass(frozen=True)
class Pause:
    """A span of time in which the queue handed out nothing. `end` is `None` while it lasts."""

    begin: datetime
    end: datetime | None = None


@dataclass(frozen=True)
class Note:
    """What was said of a queue's limit: why, and by whom; the rate that a paused queue goes back to, in starts a
    second (`None` is no limit), with the same; and the pauses, the last one last."""

    reason: str = ""
    by: str = ""
    rate: float | None = None
    rate_reason: str = ""
    rate_by: str = ""
    pauses: tuple[Pause, ...] = ()

    def paused(self, at: datetime) -> "Note":
        """With a pause from `at`, unless one lasts."""
        lasts = bool(self.pauses) and self.pauses[-1].end is None
        return self if lasts else replace(self, pauses=(*self.pauses, Pause(at)))

    def resumed(self, at: datetime) -> "Note":
        """With the pause that lasts ended."""
        if not self.pauses or self.pauses[-1].end is not None:
            return self
        ended = Pause(self.pauses[-1].begin, max(at, self.pauses[-1].begin))
        return replace(self, pauses=(*self.pauses[:-1], ended))


def write_note(note: Note) -> str:
    """The note as the server's reason; the oldest pauses are merged until it fits."""
    pauses = note.pauses
    reason = _cut(note.reason, REASON_BYTES)
    told = {
        "by": _cut(note.by, WHO_BYTES),
        "rate": note.rate,
        "rate_reason": _cut(note.rate_reason, WHO_BYTES),
        "rate_by": _cut(note.rate_by, WHO_BYTES),
    }
    while True:
        mark = told | {"pauses": [_spans(pause) for pause in pauses]}
        text = reason + _MARK + json.dumps(mark, ensure_ascii=False, separators=(",", ":"))
        if len(pauses) <= 1 or (len(text.encode()) <= _BOUND and len(pauses) <= _KEPT):
            return text
        # Too long a pause lets a job wait longer than it need; too short a one would end it unjustly.
        pauses = (Pause(pauses[0].begin, pauses[1].end), *pauses[2:])


def read_note(text: str) -> Note:
    """The note in a reason; one that somebody wrote without us is a reason and nothing else."""
    reason, found, mark = text.rpartition(_MARK)
    if not found:
        return Note(text)
    try:
        told = json.loads(mark)
        pauses = tuple(
            Pause(_instant(begin), None if end is None else _instant(end)) for begin, end in told["pauses"]
        )
        rate = None if told["rate"] is None else float(told["rate"])
        return Note(reason, str(told["by"]), rate, str(told["rate_reason"]), str(told["rate_by"]), pauses)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return Note(text)


def paused_between(pauses: Iterable[Pause], since: datetime, until: datetime) -> timedelta:
    """How much of the time from `since` to `until` the queue was paused."""
    total = timedelta(0)
    for pause in pauses:
        begin, end = max(pause.begin, since), min(pause.end or until, until)
        total += max(timedelta(0), end - begin)
    return total


def _cut(text: str, size: int) -> str:
    """As much of `text` as `size` bytes hold."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _spans(pause: Pause) -> list[int | None]:
    return [_millis(pause.begin), None if pause.end is None else _millis(pause.end)]


def _millis(at: datetime) -> int:
    return (at - EPOCH) // _MILLISECOND


def _instant(millis: int) -> datetime:
    return EPOCH + timedelta(milliseconds=millis)
