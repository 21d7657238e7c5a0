"""What the registry means for a submission: defaults of the kind, its payload checked, and warnings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic

from api.kinds.dispensable import Dispensable
from api.kinds.known import Known
from api.kinds.pollers import Pollers
from api.problems import invalid, unavailable
from api.security.caller import Caller
from duetime.contracts.explain import Fault
from duetime.contracts.job import JobSpec
from duetime.contracts.kinds import KindEntry, Spec, with_defaults
from duetime.contracts.requests import Submission
from duetime.payloads import payload_faults

_UNREAD = "the registry of kinds cannot be read now"

#: Queues that are told by name.
_TOLD = 5


@dataclass(frozen=True)
class Judged(Generic[Spec]):
    """A job with its kind's defaults, what is wrong with it, and what to warn of."""

    job: Spec
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class KindCheck:
    """Checks submissions against what workers announced."""

    def __init__(self, known: Known, pollers: Pollers, strict: bool) -> None:
        self._known = known
        self._pollers = pollers
        self._strict = strict
        # The first reads the search index, which may be away or slow while jobs can be kept all the same.
        self._registry = Dispensable("the registry of kinds")
        self._polling = Dispensable("who polls a queue")

    async def check(self, submission: Submission, caller: Caller) -> tuple[JobSpec, list[str]]:
        """The job with its kind's defaults, and what to warn `caller` of; a `422` problem when it cannot work.

        A job is kept whether or not its kind can be looked up; only a strict API refuses one (`503`) that it can
        neither find nor remember.
        """
        return await self.check_job(submission.job(), caller)

    async def check_job(self, job: JobSpec, caller: Caller) -> tuple[JobSpec, list[str]]:
        """The same for a job that is not submitted now."""
        judged = await self.judge(job, caller)
        if judged.faults:
            raise invalid(judged.faults)
        return judged.job, judged.warnings

    async def judge(self, job: Spec, caller: Caller) -> Judged[Spec]:
        """The same for a job alone, with its faults told and not raised."""
        faults: list[Fault] = []
        warnings: list[str] = []
        known = await self._registry.ask(lambda: self._known.kind(job.kind, job.queue))
        entries = _seen(self._known.remembered(job.kind) if known is None else known, caller)
        entry = entries.get(job.queue) or next(iter(entries.values()), None)
        if entry is not None:
            faults += payload_faults(entry, job.payload)
            job = with_defaults(job, entry.defaults)
            if known is None:
                warnings.append(
                    f"{_UNREAD}: the kind {job.kind!r} is taken as it was announced some time ago"
                )
            elif job.queue not in entries:
                queues = _some(sorted(entries))
                warnings.append(f"the kind {job.kind!r} was announced on {queues}, not on {job.queue!r}")
        elif known is None:
            if self._strict:
                raise unavailable(f"{_UNREAD}, and this API takes known kinds alone", "kinds_unread")
            warnings.append(f"{_UNREAD}: the payload was not checked")
        else:
            message = f"no worker ever announced the kind {job.kind!r}"
            if self._strict:
                faults.append({"pointer": "/kind", "message": message})
            warnings.append(f"{message}: the job waits until one does")
        if not faults and await self._polling.ask(lambda: self._pollers.live(job.queue)) is False:
            warnings.append(f"no worker polls the queue {job.queue!r} (no_active_workers)")
        return Judged(job, faults, warnings)


def _seen(entries: Mapping[str, KindEntry], caller: Caller) -> dict[str, KindEntry]:
    return {queue: entry for queue, entry in entries.items() if caller.may_see(entry.kind, queue)}


def _some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {more} more" if more > 0 else "")
