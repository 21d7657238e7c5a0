"""How late the server may start a run by itself and still be on time.

The server decides by its catch-up window, of at least ten seconds, and what it starts in that window it starts by the
overlap policy alone. A minute lets a busy server be late without losing runs. Longer than the time between two runs it
must not be: after downtime it would start two where `latest` and `none` promise one or none. Where all are to run in
the order of their times, it has to be the whole window: what the server starts first is then the oldest.
"""

from datetime import datetime, timedelta
from itertools import islice, pairwise

from duetime.contracts.limits import SHORTEST_CATCH_UP
from duetime.contracts.schedule import ScheduleSpec
from duetime.cron.fires import instants
from duetime.cron.rule import Rule

LONGEST = timedelta(seconds=60)
_LOOKED_AT = 200


def grace_of(spec: ScheduleSpec, rule: Rule, now: datetime) -> timedelta:
    """From 10 s to a minute: the shortest time between two of the next fires, and never beyond the catch-up window."""
    times = [instant for instant, _ in islice(instants(rule, now), _LOOKED_AT)]
    gap = min((later - earlier for earlier, later in pairwise(times)), default=LONGEST.total_seconds())
    return max(SHORTEST_CATCH_UP, min(LONGEST, timedelta(seconds=gap), spec.catch_up.window))


def is_made_up_by_the_server(spec: ScheduleSpec) -> bool:
    """Whether the server itself makes up all of the window, in order: it does so where no run is in another's way,
    or all queue up."""
    return spec.catch_up.policy == "all" and spec.overlap in ("allow", "queue_all")


def is_begun_by_the_server(spec: ScheduleSpec) -> bool:
    """Whether the server itself makes up the oldest time of the window, and skips all others for its sake: those are
    ours, and come after it."""
    return spec.catch_up.policy == "all" and spec.overlap == "skip"


def server_window(spec: ScheduleSpec, rule: Rule, now: datetime) -> timedelta:
    """The catch-up window that the server is given."""
    whole = is_made_up_by_the_server(spec) or is_begun_by_the_server(spec)
    return spec.catch_up.window if whole else grace_of(spec, rule, now)
