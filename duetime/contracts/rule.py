"""The fields of a schedule that say when it fires, as they are written.

Text is kept as given, so that what comes out is what went in. This checks shapes only; what the fields mean, and
whether they mean anything, is read by `duetime.cron.read_fields`.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from duetime.contracts.duration import parse_duration
from duetime.contracts.job import DURATION_SCHEMA, Contract
from duetime.contracts.json_value import JsonValueError

_LINE_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 256}
_INSTANT = "RFC 3339 with an offset, or a wall time of the rule's `timezone`"
_A_LINE = "a cron line is a string"
_AN_EXCLUSION = 'must be a date, "2026-12-25", or {"cron": "* * 24-31 12 *"}'


def _checked_span(value: Any) -> Any:
    parse_duration(value)
    return value


#: A duration that stays as it was written: in `every`, `1d` and `24h` differ.
WrittenSpan = Annotated[
    str | int | float, BeforeValidator(_checked_span), WithJsonSchema(DURATION_SCHEMA | {"examples": ["90m"]})
]


class ClockChanges(Contract):
    """What a fixed time of day does when the clocks change. The defaults are those of cron(8)."""

    gap: Literal["after", "skip"] = Field(
        "after", description="a time in the skipped hour: right after the gap, or not at all"
    )
    overlap: Literal["first", "last", "both"] = Field(
        "first", description="the pass of the repeated hour that counts"
    )


class ExcludedLine(Contract):
    """Every wall-clock time that a cron line names."""

    cron: Annotated[str, WithJsonSchema(_LINE_SCHEMA)]


class RuleFields(Contract):
    """When a schedule fires: one of `cron`, `every` and `at`, and what narrows it down.

    >>> RuleFields.model_validate({"cron": "0 2 * * MON-FRI", "timezone": "America/New_York"}).dst.gap
    'after'
    """

    cron: (
        Annotated[
            str | list[str],
            WithJsonSchema(
                {"anyOf": [_LINE_SCHEMA, {"type": "array", "items": _LINE_SCHEMA, "minItems": 1}]}
            ),
        ]
        | None
    ) = Field(None, description="a cron line, or a list of them: their union", examples=["0 2 * * MON-FRI"])
    every: WrittenSpan | None = None
    offset: WrittenSpan | None = Field(None, description="how far `every` is moved; shorter than `every`")
    at: list[str] | None = Field(
        None, description=f"instants: {_INSTANT}", examples=[["2027-01-15T09:00:00+01:00"]]
    )
    timezone: str | None = Field(
        None, description="an IANA name; UTC when left out", examples=["America/New_York"]
    )
    dst: ClockChanges = ClockChanges()
    exclude: list[str | ExcludedLine] = Field(
        [], description="dates and cron lines, on the clocks of `timezone`", examples=[["2026-12-25"]]
    )
    start_at: str | None = Field(None, description=f"the first instant that may fire: {_INSTANT}")
    end_at: str | None = Field(None, description=f"all fire before this instant: {_INSTANT}")

    @field_validator("cron", mode="before")
    @classmethod
    def _lines(cls, value: Any) -> Any:
        if isinstance(value, list):
            for index, line in enumerate(value):
                if not isinstance(line, str):
                    raise JsonValueError(f"/{index}", _A_LINE)
        elif not isinstance(value, str | None):
            raise ValueError(f"{_A_LINE}; a list of lines is their union")
        return value

    @field_validator("exclude", mode="before")
    @classmethod
    def _exclusions(cls, value: Any) -> Any:
        for index, item in enumerate(value if isinstance(value, list) else ()):
            line = item.get("cron") if isinstance(item, dict) and len(item) == 1 else item
            if not isinstance(line, str | ExcludedLine):
                raise JsonValueError(f"/{index}", _AN_EXCLUSION)
        return value

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        given = [name for name in ("cron", "every", "at") if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(f"`{name}`" for name in given) or "none"
            raise ValueError(f"a rule is one of `cron`, `every` and `at`; given: {said}")
        if self.offset is not None and self.every is None:
            raise JsonValueError("/offset", "goes with `every` only")
        return self

    def rule_fields(self) -> dict[str, Any]:
        """JSON of the rule alone, as it was given, whatever else a subclass holds."""
        return self.model_dump(mode="json", exclude_unset=True, include=set(RuleFields.model_fields))
