"""What the registry means for a submission: defaults of the kind, its payload checked, and warnings."""

import logging
from typing import Any

from temporalio.service import RPCError

from api.jobs.request import Submission
from api.kinds.known import Known, payload_faults
from api.kinds.pollers import Pollers
from api.problems import invalid
from api.security.caller import Caller
from duetime.contracts.job import JobSpec, Retry

log = logging.getLogger("duetime.api")


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
                queues = ", ".join(sorted(entries))
                warnings.append(f"the kind {job.kind!r} was announced on {queues}, not on {job.queue!r}")
        if not await self._pollers.live(job.queue):
            warnings.append(f"no worker polls the queue {job.queue!r} (no_active_workers)")
        return job, warnings


def with_defaults(job: JobSpec, defaults: dict[str, Any]) -> JobSpec:
    """`job` with the kind's defaults where the submission said nothing; `retry` is filled field by field."""
    missing = {name: value for name, value in defaults.items() if name not in job.model_fields_set}
    if "retry" in defaults:
        said = {name: getattr(job.retry, name) for name in job.retry.model_fields_set}
        base = Retry.model_validate(defaults["retry"])
        missing["retry"] = base.model_copy(update=said)
    if not missing:
        return job
    parsed = JobSpec.model_validate({"kind": job.kind, **missing})
    return job.model_copy(update={name: getattr(parsed, name) for name in missing})
