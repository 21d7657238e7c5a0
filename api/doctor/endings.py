"""How the jobs of the last hour ended: a kind that mostly fails waits on nothing, and no queue would tell of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio.client import Client

from api.jobs import query
from api.jobs.filters import JobFilter
from api.jobs.index import Index
from duetime.contracts.states import State
from duetime.doctor.findings import Finding, ok, warning

_CHECK = "endings"
_SPAN = timedelta(hours=1)
#: Fewer failures of a kind may be bad luck.
_MANY = 5
#: The newest failures, of which the kinds are learnt, and how many kinds are counted.
_SAMPLE, _KINDS = 200, 3
_BAD = (State.FAILED, State.EXPIRED)


@dataclass(frozen=True)
class Endings:
    """Jobs that ended within the span."""

    bad: int
    good: int


async def endings(client: Client, now: datetime) -> tuple[Endings, Mapping[str, Endings]]:
    """Of all jobs, and of the kinds that failed most often. A handful of questions to the index, however many jobs."""
    index = Index(client)
    since = f"CloseTime >= {query.moment(now - _SPAN)}"

    async def count(wanted: JobFilter, *states: State) -> int:
        return await index.count(query.all_of(query.jobs(wanted), query.finished(states), since))

    every = JobFilter()
    bad = await count(every, *_BAD)
    if not bad:
        return Endings(0, await count(every, State.SUCCEEDED)), {}
    rows, _ = await index.rows(query.all_of(query.jobs(every), query.finished(_BAD), since), _SAMPLE)
    often = Counter(row.kind for row in rows if row.kind is not None).most_common(_KINDS)
    kinds = {}
    for kind, _ in often:
        wanted = JobFilter(kind=kind)
        kinds[kind] = Endings(await count(wanted, *_BAD), await count(wanted, State.SUCCEEDED))
    return Endings(bad, await count(every, State.SUCCEEDED)), kinds


def examine_endings(every: Endings, kinds: Mapping[str, Endings]) -> list[Finding]:
    """A warning for each kind that fails more often than not. Pure."""
    found = [
        warning(
            _CHECK,
            f"{one.bad:,} of the {one.bad + one.good:,} jobs of kind {kind!r} that ended in the last hour failed "
            "or expired",
            f"duetime count --by error --kind {kind}, or GET /v1/jobs:count?by=error&kind={kind}, tells why; "
            f"when that is mended, duetime retry --failed --kind {kind} --canary 3 runs them again",
        )
        for kind, one in kinds.items()
        if one.bad >= _MANY and one.bad > one.good
    ]
    well = (
        f"{every.bad:,} of the {every.bad + every.good:,} jobs that ended in the last hour failed or expired"
    )
    return found or [ok(_CHECK, well)]
