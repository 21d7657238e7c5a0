"""How many jobs all schedules together will start, minute by minute."""

from pydantic import Field

from duetime.contracts.view import Answer, Instant


class ForecastMinute(Answer):
    """Starts expected within one minute; parts of one where jitter spreads a start over several."""

    at: Instant
    starts: float


class ForecastPeak(ForecastMinute):
    """One of the fullest minutes."""

    share: float = Field(description="of all starts in its hour")
    schedules: int = Field(description="how many schedules start something in it")
    of: list[str] = Field(description="their ids, those of most starts first; twenty at the most")


class FlatterLine(Answer):
    """A change that takes its schedules out of the peaks: another line, or a jitter."""

    line: str = Field(description="the cron line, or the span, as it is written now")
    cron: str | None = Field(None, description="the line to write instead")
    jitter: str | None = Field(None, description='the jitter to set instead, with `"jitter_mode": "stable"`')
    schedules: int
    of: list[str] = Field(description="their ids; twenty at the most")


class FlatterForecast(Answer):
    """What would spread the peaks, and the fullest minute that would be left."""

    changes: list[FlatterLine]
    starts: float
    share: float = Field(description="of all starts in its hour")


class ForecastView(Answer):
    """Starts per minute over all schedules that are not paused, from the beginning of the present minute."""

    start: Instant = Field(alias="from")
    end: Instant = Field(alias="to")
    schedules: int
    #: Not counted: paused or finished ones, and ids of those whose rule cannot be read.
    paused: int = Field(description="schedules left out because they are paused for all of the time")
    unreadable: list[str] = Field(description="ids of schedules whose rule cannot be read")
    starts: float
    minutes: list[ForecastMinute] = Field(description="minutes without a start are left out")
    peaks: list[ForecastPeak] = Field(description="the fullest minutes, ten at the most")
    flatter: FlatterForecast | None = Field(None, description="null when nothing would flatten the peaks")
