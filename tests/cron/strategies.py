"""Random rules: mostly of the kinds people write, and as often as not about the hours when clocks change."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from duetime.cron.errors import RuleError
from duetime.cron.rule import Rule, read_rule

#: Zones that differ in what their clocks do: the change's size, its hour, its side of midnight, its season.
ZONES = (
    "UTC", "Asia/Kolkata", "America/New_York", "America/St_Johns", "America/Havana", "America/Santiago",
    "America/Asuncion", "America/Nuuk", "Europe/London", "Europe/Paris", "Europe/Dublin", "Europe/Athens",
    "Africa/Casablanca", "Africa/Cairo", "Asia/Beirut", "Asia/Jerusalem", "Australia/Sydney",
    "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Easter", "Antarctica/Troll", "Atlantic/Azores",
)  # fmt: skip

numbers = st.integers


def _list(item: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(item, min_size=1, max_size=most).map(",".join)


@st.composite
def _range(draw: st.DrawFn, low: int, high: int) -> str:
    first = draw(numbers(low, high))
    last = draw(numbers(first, high))
    step = draw(st.sampled_from(("", "", "/2", "/7"))) if first < last else ""
    return f"{first}-{last}{step}"


minutes = st.one_of(
    st.sampled_from(("0", "30", "*", "*", "*/15", "*/20", "59", "0,30", "1", "15-45/10")),
    _list(numbers(0, 59).map(str)),
    _range(0, 59),
)
hours = st.one_of(
    st.sampled_from(("*", "0", "1", "2", "3", "23", "*/2", "*/3", "0-3", "22-23", "1,2", "*/1")),
    _list(numbers(0, 4).map(str)),
    _list(numbers(0, 23).map(str)),
    _range(0, 23),
)
dates = st.one_of(
    st.just("*"),
    st.just("*"),
    st.just("*"),
    _list(
        st.one_of(
            numbers(1, 31).map(str),
            _range(1, 31),
            st.just("L"),
            st.just("LW"),
            numbers(1, 30).map("L-{}".format),
            numbers(1, 31).map("{}W".format),
        )
    ),
    st.sampled_from(("*/2", "*/5", "1-7", "8-14", "25-31")),
)
months = st.one_of(
    st.just("*"), st.just("*"), st.sampled_from(("3", "MAR,OCT", "4-11", "*/2", "2", "SEP")), _range(1, 12)
)
weekdays = st.one_of(
    st.just("*"),
    st.just("*"),
    st.just("*"),
    st.sampled_from(
        ("SUN", "0,6", "FRI-SUN", "*/2", "SAT", "MON-FRI", "7", "SUN#1", "SUNL", "SAT#4", "5L,0#2")
    ),
    _list(st.one_of(numbers(0, 7).map(str), st.builds("{}#{}".format, numbers(0, 7), numbers(1, 5)))),
)
seconds = st.sampled_from(("0", "30", "*/20", "0,59", "7", "*/10", "*"))

five_fields = st.tuples(minutes, hours, dates, months, weekdays).map(" ".join)
six_fields = st.tuples(seconds, minutes, hours, dates, months, weekdays).map(" ".join)
cron_lines = st.one_of(five_fields, five_fields, five_fields, six_fields)

excluded = st.lists(
    st.one_of(
        st.builds("{}-{:02}-{:02}".format, numbers(2026, 2030), numbers(1, 12), numbers(1, 28)),
        st.fixed_dictionaries({"cron": five_fields}),
        st.just({"cron": "* * 24-31 12 *"}),
        st.just({"cron": "* 2 * * *"}),
        st.just({"cron": "* * * * SUN#1"}),
    ),
    max_size=2,
)
spans = st.one_of(
    st.sampled_from(("90m", "1d", "2d", "7d", "2w", "10d", "24h", "P1D", "45d", "36h")),
    numbers(1, 60).map("{}d".format),
    numbers(20, 3000).map("{}m".format),
)


@st.composite
def rules(draw: st.DrawFn, zones: tuple[str, ...] = ZONES) -> Rule:
    """A whole rule; what `read_rule` refuses (a line that can never fire) is drawn again."""
    common = {
        "timezone": draw(st.sampled_from(zones)),
        "gap": draw(st.sampled_from(("after", "after", "skip"))),
        "overlap": draw(st.sampled_from(("first", "first", "last", "both"))),
        "exclude": draw(st.one_of(st.just([]), st.just([]), excluded)),
        "schedule_id": "any",
    }
    if draw(st.integers(0, 4)) == 0:
        start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=draw(numbers(0, 4 * 365 * 86_400)))
        common |= {"start_at": start, "end_at": start + timedelta(seconds=draw(numbers(1, 3 * 365 * 86_400)))}
    kind = draw(st.sampled_from(("cron", "cron", "cron", "cron", "lines", "every")))
    while True:
        try:
            if kind == "every":
                return read_rule(every=draw(spans), offset=f"{draw(numbers(0, 19))}m", **common)
            if kind == "lines":
                return read_rule(cron=draw(st.lists(cron_lines, min_size=2, max_size=3)), **common)
            return read_rule(cron=draw(cron_lines), **common)
        except RuleError:
            common["exclude"] = []
