"""What is wrong with a rule, said so that its author can put it right.

RuleError
├── CronError    a cron line; knows the column
└── ZoneError    a time zone name
"""

from typing import Self


class RuleError(ValueError):
    """A recurring rule that cannot be read or can never fire.

    `path` leads to the faulty part of the rule as it was given (`("exclude", 0, "cron")`), `reason` says what
    is wrong there, `hint` is the way out.
    """

    def __init__(self, reason: str, *, hint: str = "", path: tuple[str | int, ...] = ()) -> None:
        self.reason = reason
        self.hint = hint
        self.path = path
        super().__init__(reason)

    def under(self, *prefix: str | int) -> Self:
        """The same error, seen from the rule that holds the faulty part."""
        self.path = (*prefix, *self.path)
        return self

    def __str__(self) -> str:
        return f"{self.reason}: {self.hint}" if self.hint else self.reason


class CronError(RuleError):
    """A cron line that cannot be read. `column` counts characters from 1; `token` is the offending text."""

    def __init__(self, reason: str, *, hint: str = "", token: str = "", column: int | None = None) -> None:
        super().__init__(reason, hint=hint)
        self.token = token
        self.column = column

    def __str__(self) -> str:
        where = f" (column {self.column})" if self.column is not None else ""
        return f"{self.reason}{where}: {self.hint}" if self.hint else f"{self.reason}{where}"


class ZoneError(RuleError):
    """A time zone nobody knows; the hint names the nearest one that exists."""
