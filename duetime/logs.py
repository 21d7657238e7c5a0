"""Logs of a program: one line an event on standard error, with the job and attempt of whatever a handler logs.

The runtime marks the context that a handler runs in (`contextvars`), so the lines of the handler's own loggers, and of
the libraries it calls, carry the job as well. Threads that a handler starts by itself begin with an empty context, as
always in Python: `asyncio.to_thread`, or `contextvars.copy_context().run`, takes it along.

A service with a logging configuration of its own adds `JobFilter` to its handlers:

>>> handler = logging.StreamHandler()
>>> handler.addFilter(JobFilter())
>>> handler.setFormatter(logging.Formatter("%(job_id)s %(attempt)s %(message)s"))
"""

import json
import logging
import math
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

Form = Literal["text", "json"]

_TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(speaker)s%(message)s"
_HIDDEN = "***"
#: Shorter ones would blot out ordinary words.
_SHORTEST_SECRET = 6
#: Not what the caller said. (uvicorn says a message once more, in colours.)
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "speaker", "color_message"}


@dataclass(frozen=True)
class Speaker:
    """Whose code runs in this context."""

    job_id: str
    attempt: int
    kind: str


_SPEAKER: ContextVar[Speaker | None] = ContextVar("duetime_speaker", default=None)


def speak_for(job_id: str, attempt: int, kind: str) -> None:
    """From here on, lines logged in this context are of that attempt."""
    _SPEAKER.set(Speaker(job_id, attempt, kind))


class JobFilter(logging.Filter):
    """Gives every record `job_id`, `attempt` and `kind`, which are `None` outside of a handler, and `speaker`, a
    prefix for text. Lets all records pass. Goes on a `logging.Handler`: filters of loggers see only their own lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        speaker = _SPEAKER.get()
        told = hasattr(record, "job_id")  # `job.log` says it in the line itself
        if not told:
            record.job_id = speaker.job_id if speaker else None
            record.attempt = speaker.attempt if speaker else None
        record.kind = getattr(record, "kind", speaker.kind if speaker else None)
        record.speaker = "" if told or not speaker else _prefix(speaker.job_id, speaker.attempt)
        return True


def _prefix(job_id: object, attempt: object) -> str:
    return f"[{job_id} attempt {attempt}] "


class Veil:
    """Blots secrets out of text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first: one may be a part of another.
        self._secrets = sorted({s for s in secrets if len(s) >= _SHORTEST_SECRET}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text


class TextFormatter(logging.Formatter):
    """A line for people; stacks follow on lines of their own."""

    def __init__(self, veil: Veil) -> None:
        super().__init__(_TEXT)
        self._veil = veil

    def format(self, record: logging.LogRecord) -> str:
        return self._veil(super().format(record))


class JsonFormatter(logging.Formatter):
    """A JSON object on one line: `time`, `level`, `logger`, `message`, then `job_id`, `attempt` and `kind` of what a
    handler logs, what the caller gave as `extra`, and `stack`."""

    def __init__(self, veil: Veil) -> None:
        super().__init__()
        self._veil = veil

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": self._message(record),
        }
        more = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        line |= {name: value for name, value in more.items() if value is not None and name not in line}
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return json.dumps(self._veiled(line), ensure_ascii=False)

    @staticmethod
    def _message(record: logging.LogRecord) -> str:
        prefix = _prefix(getattr(record, "job_id", None), getattr(record, "attempt", None))
        return record.getMessage().removeprefix(prefix)

    def _veiled(self, line: dict[str, Any]) -> dict[str, Any]:
        return {name: value if _is_number(value) else self._veil(str(value)) for name, value in line.items()}


def _is_number(value: Any) -> bool:
    """Whether JSON has it; it has no NaN."""
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def set_up_logs(level: str, form: Form = "text", secrets: Iterable[str] = ()) -> None:
    """Logs at `level` (`debug`, `info`, `warning`, `error`) for this whole process, with `secrets` blotted out."""
    veil = Veil(secrets)
    handler = logging.StreamHandler()
    handler.addFilter(JobFilter())
    handler.setFormatter(JsonFormatter(veil) if form == "json" else TextFormatter(veil))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    keep_payloads_out()


def keep_payloads_out() -> None:
    """Silences what the SDK would log of payloads: at `debug` every task whole, and each failed attempt once more, with
    a stack of its own frames; ours name the job."""
    logging.getLogger("temporalio").setLevel(logging.INFO)
    logging.getLogger("temporalio.activity").setLevel(logging.CRITICAL)
