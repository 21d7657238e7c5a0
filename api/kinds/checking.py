"""What the registry means for a submission: defaults of the kind, its payload checked, and warnings."""

import logging
from dataclasses import dataclass, field
from typing import Generic

from temporalio.service import RPCError

from api.kinds.known import Known
from api.kinds.pollers import Pollers
from api.problems import invalid
from api.security.caller import Caller
from duetime.contracts.explain import Fault
from duetime.contracts.job import JobSpec
from duetime.contracts.kinds import Spec, with_defaults
from duetime.contracts.requests import Submission
from duetime.payloads import payload_faults

log = logging.getLogger("duetime.api")


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

    async def check(self, submission: Submission, caller: Caller) -> tuple[JobSpec, list[str]]:
        """The job with its kind's defaults, and what to warn `caller` of; a `422` problem when it cannot work."""
        judged = await self.judge(submission.job(), caller)
        if judged.faults:
            raise invalid(judged.faults)
        return judged.job, judged.warnings

    async def judge(self, job: Spec, caller: Caller) -> Judged[Spec]:
        """The same for a job alone, with its faults told and not raised."""
        try:
            return await self._judge(job, caller)
        except RPCError as error:
            # Only the search index may be away: the job can be kept all the same.
            log.warning("the kinds and queues could not be looked up: %s", error)
            warning = "the registry of kinds cannot be read now: the payload was not checked"
            return Judged(job, warnings=[warning])

    async def _judge(self, job: Spec, caller: Caller) -> Judged[Spec]:
        faults: list[Fault] = []
        warnings: list[str] = []
        known = await self._known.kind(job.kind, job.queue)
        entries = {queue: entry for queue, entry in known.items() if caller.may_see(entry.kind, queue)}
        entry = entries.get(job.queue) or next(iter(entries.values()), None)
        if entry is None:
            message = f"no worker ever announced the kind {job.kind!r}"
            if self._strict:
                faults.append({"pointer": "/kind", "message": message})
            warnings.append(f"{message}: the job waits until one does")
        else:
            faults += payload_faults(entry, job.payload)
            job = with_defaults(job, entry.defaults)
            if job.queue not in entries:
                queues = ", ".join(sorted(entries))
                warnings.append(f"the kind {job.kind!r} was announced on {queues}, not on {job.queue!r}")
        if not faults and not await self._pollers.live(job.queue):
            warnings.append(f"no worker polls the queue {job.queue!r} (no_active_workers)")
        return Judged(job, faults, warnings)
