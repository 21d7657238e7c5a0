"""What the registry means for a submission: defaults of the kind, its payload checked, and warnings."""

import logging

from temporalio.service import RPCError

from api.kinds.known import Known
from api.kinds.pollers import Pollers
from api.problems import invalid
from api.security.caller import Caller
from duetime.contracts.job import JobSpec
from duetime.contracts.kinds import with_defaults
from duetime.contracts.requests import Submission
from duetime.payloads import payload_faults

log = logging.getLogger("duetime.api")

#: Queues that are told by name.
_TOLD = 5


class KindCheck:
    """Checks submissions against what workers announced."""

    def __init__(self, known: Known, pollers: Pollers, strict: bool) -> None:
        self._known = known
        self._pollers = pollers
        self._strict = strict

    async def check(self, submission: Submission, caller: Caller) -> tuple[JobSpec, list[str]]:
        """The job with its kind's defaults, and what to warn `caller` of; a `422` problem when it cannot work."""
        job = submission.job()
        try:
            return await self._check(job, caller)
        except RPCError as error:
            # Only the search index may be away: the job can be kept all the same.
            log.warning("the kinds and queues could not be looked up: %s", error)
            return job, ["the registry of kinds cannot be read now: the payload was not checked"]

    async def _check(self, job: JobSpec, caller: Caller) -> tuple[JobSpec, list[str]]:
        warnings: list[str] = []
        known = await self._known.kind(job.kind, job.queue)
        entries = {queue: entry for queue, entry in known.items() if caller.may_see(entry.kind, queue)}
        entry = entries.get(job.queue) or next(iter(entries.values()), None)
        if entry is None:
            message = f"no worker ever announced the kind {job.kind!r}"
            if self._strict:
                raise invalid([{"pointer": "/kind", "message": message}])
            warnings.append(f"{message}: the job waits until one does")
        else:
            if faults := payload_faults(entry, job.payload):
                raise invalid(faults)
            job = with_defaults(job, entry.defaults)
            if job.queue not in entries:
                queues = _some(sorted(entries))
                warnings.append(f"the kind {job.kind!r} was announced on {queues}, not on {job.queue!r}")
        if not await self._pollers.live(job.queue):
            warnings.append(f"no worker polls the queue {job.queue!r} (no_active_workers)")
        return job, warnings


def _some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {more} more" if more > 0 else "")
