"""Jobs of a crontab as schedules that do what cron did: no run waits for another, none is made up, none is repeated."""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from duetime.contracts import limits
from duetime.contracts.json_value import check_json
from duetime.cron import RuleError, check_zone, read_rule
from duetime.crontab.lines import Entry, Remark, read_crontab

_ZONE, _SHELL, _MAIL, _DELAY = "CRON_TZ", "SHELL", "MAILTO", "RANDOM_DELAY"
#: Settings that are cron's own, and no variable of the command.
_OF_CRON = (_ZONE, _SHELL, _MAIL, "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", _DELAY)
_SH = ("/bin/sh", "sh")
_UNNAMED = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Imported:
    """Schedules as `POST /v1/schedules:apply` takes them, and what to tell of the lines."""

    schedules: list[dict[str, Any]]
    remarks: list[Remark]

    @property
    def is_whole(self) -> bool:
        """Whether every job became a schedule."""
        return not any(remark.is_refused for remark in self.remarks)


def import_crontab(
    text: str,
    *,
    system: bool = False,
    timezone: str | None = None,
    queue: str = "default",
    prefix: str = "",
    name: str = "crontab",
) -> Imported:
    """The schedules of a crontab. `timezone` is that of lines without `CRON_TZ`; `name` is told in their notes.

    A schedule's id is made of `prefix`, the command's first word and a hash of the command, so that another time or
    another place in the file changes the schedule and makes no new one. `RuleError` for an unknown `timezone`.
    """
    if timezone is not None:
        check_zone(timezone)
    entries, remarks = read_crontab(text, system=system)
    schedules: dict[str, dict[str, Any]] = {}
    for entry in entries:
        try:
            schedule_id = _unused(f"{prefix}{_slug(entry)}", schedules)
            said = _oddities(entry)
            spec = _spec(entry, timezone, queue, name)
            rule = read_rule(cron=entry.schedule, timezone=spec.get("timezone"), schedule_id=schedule_id)
            check_json(spec["job"]["payload"], limits.PAYLOAD_BYTES)
            said += rule.warnings
            schedules[schedule_id] = {"id": schedule_id, **spec}
            remarks += [Remark(entry.line, text) for text in said]
        except RuleError as error:
            remarks.append(Remark(entry.line, str(error), is_refused=True))
    if any("timezone" not in schedule for schedule in schedules.values()):
        remarks.append(
            Remark(0, "cron goes by the clock of its machine, these schedules by UTC: name a time zone")
        )
    return Imported(list(schedules.values()), sorted(remarks, key=lambda remark: remark.line))


def _spec(entry: Entry, timezone: str | None, queue: str, name: str) -> dict[str, Any]:
    zone = entry.settings.get(_ZONE) or timezone
    shell = entry.settings.get(_SHELL, _SH[0])
    payload: dict[str, Any] = (
        {"shell": entry.command} if shell in _SH else {"argv": [shell, "-c", entry.command]}
    )
    if entry.stdin is not None:
        payload["stdin"] = entry.stdin
    if env := {key: value for key, value in entry.settings.items() if key not in _OF_CRON}:
        payload["env"] = env
    delay = _delay(entry)
    return {
        "cron": entry.schedule,
        **({"timezone": zone} if zone else {}),
        **({"jitter": f"{delay}m", "jitter_mode": "stable"} if delay else {}),
        "overlap": "allow",
        "catch_up": {"policy": "none"},
        "note": f"{name}, line {entry.line}"[: limits.NOTE_LENGTH],
        "job": {"kind": "command", "queue": queue, "payload": payload, "retry": {"max_attempts": 1}},
    }


def _oddities(entry: Entry) -> list[str]:
    """What the schedule does otherwise than cron did."""
    said: list[str] = []
    if entry.user is not None:
        said.append(f"runs as the worker's user, not as {entry.user}")
    if entry.settings.get(_MAIL):
        said.append(f"output is kept with the job, and not sent to {entry.settings[_MAIL]}")
    if entry.settings.get(_DELAY) and _delay(entry) is None:
        said.append(f"{_DELAY} is no number of minutes, and left out")
    return said


def _delay(entry: Entry) -> int | None:
    text = entry.settings.get(_DELAY, "")
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) <= 1_440 else None


def _slug(entry: Entry) -> str:
    """`backup-sh-1a2b3c`: of the command's first word, and all of it."""
    program = entry.command.split()[0] if entry.command.split() else "command"
    slug = _UNNAMED.sub("-", program.rsplit("/", 1)[-1].lower()).strip("-")[:40]
    told = f"{entry.user or ''}\0{entry.command}\0{entry.stdin or ''}"
    return f"{slug or 'command'}-{sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def _unused(name: str, taken: dict[str, Any]) -> str:
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}-{count}"
    return found
