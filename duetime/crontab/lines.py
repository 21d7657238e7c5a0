"""The lines of a crontab: settings, jobs, and what is neither.

As in crontab(5) and cronie's entry.c, env.c and do_command.c: a setting holds for the lines after it, nothing in it is
expanded, an unescaped `%` ends the command and begins its standard input, and there are no comments beside a job.
"""

import re
from dataclasses import dataclass, field

#: A name, quoted or not, `=`, and a value that is quoted as a whole or not at all.
_SETTING = re.compile(
    r"""[ \t]*(?:"([^"]*)"|'([^']*)'|([^ \t="'][^ \t=]*))[ \t]*=[ \t]*(?:"([^"]*)"|'([^']*)'|([^"'].*|))[ \t]*"""
)
_NICKNAME = re.compile(r"(@\S+)[ \t]*(.*)", re.DOTALL)
_FIELDS = re.compile(r"((?:\S+[ \t]+){4}\S+)(?:[ \t]+(.*))?", re.DOTALL)
_WORD = re.compile(r"(\S+)(?:[ \t]+(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """A job: when, as it is written; what for the shell; its standard input; the settings in force at its line."""

    line: int
    schedule: str
    command: str
    stdin: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    #: Of a system crontab.
    user: str | None = None


@dataclass(frozen=True)
class Remark:
    """Something to tell of a line; `is_refused` says that it became no job."""

    line: int
    text: str
    is_refused: bool = False


def read_crontab(text: str, *, system: bool = False) -> tuple[list[Entry], list[Remark]]:
    """The jobs of a crontab, and what is odd about its lines. A `system` crontab names a user before each command."""
    entries: list[Entry] = []
    remarks: list[Remark] = []
    settings: dict[str, str] = {}
    lines = text.split("\n")
    if lines[-1]:
        remarks.append(Remark(len(lines), "no end of line: cron refuses such a file"))
    for number, line in enumerate(lines, 1):
        if line.endswith("\r"):
            remarks.append(Remark(number, "ends with a carriage return, which cron hands to the command"))
        line = line.rstrip("\r")
        stripped = line.lstrip(" \t")
        if not stripped or stripped.startswith("#"):
            continue
        if setting := _SETTING.fullmatch(line):
            name, quoted = setting[1] or setting[2] or setting[3] or "", setting[4] or setting[5]
            settings[name] = quoted or (setting[6] or "").rstrip()
            continue
        found = _read_job(number, stripped, dict(settings), system)
        (remarks if isinstance(found, Remark) else entries).append(found)  # type: ignore[arg-type]
    return entries, remarks


def _read_job(number: int, line: str, settings: dict[str, str], system: bool) -> Entry | Remark:
    match = _NICKNAME.fullmatch(line) or _FIELDS.fullmatch(line)
    if match is None:
        return Remark(number, "is no setting and has fewer than five fields", is_refused=True)
    schedule, rest = " ".join(match[1].split()), match[2] or ""
    user = None
    if system and (word := _WORD.fullmatch(rest)):
        user, rest = word[1], word[2] or ""
    if not rest:
        wanted = "user and command" if system and user is None else "command"
        return Remark(number, f"has no {wanted}", is_refused=True)
    if rest.startswith("*"):
        text = f"its command begins with a star: cron reads five fields, so that {rest.split()[0]!r} is the command"
        return Remark(number, text, is_refused=True)
    command, stdin = _split(rest)
    return Entry(number, schedule, command, stdin, settings, user)


def _split(text: str) -> tuple[str, str | None]:
    """The command and its standard input, `None` when there is no unescaped `%`."""
    command: list[str] = []
    escaped = False
    for index, sign in enumerate(text):
        if escaped:
            if sign == "%":
                command.pop()
            escaped = False
        elif sign == "%":
            return "".join(command), _stdin(text[index + 1 :])
        else:
            escaped = sign == "\\"
        command.append(sign)
    return "".join(command), None


def _stdin(text: str) -> str:
    """`%` is a line end and `\\%` a `%`; what is not empty ends with a line end."""
    found = re.sub(r"\\%|%|\\(?!%)", lambda match: {"%": "\n", "\\%": "%"}.get(match[0], match[0]), text)
    return found + "\n" if found and not found.endswith("\n") else found
