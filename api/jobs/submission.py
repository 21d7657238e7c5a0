"""Submitting: one start of a workflow, and what to do when its id is taken."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from api.jobs.claiming import Accepted, Verdict, accept, in_use, judge, refused
from api.jobs.idempotency import Match, hashes, match
from api.jobs.limit_warnings import limit_warnings
from api.jobs.reading import Reader
from api.kinds.checking import KindCheck
from api.observe.counters import job_submitted
from api.patience import in_time
from api.problems import Problem, invalid
from api.security.caller import ANYBODY, Caller
from api.security.scopes import Scope
from duetime.contracts.carry import Carry
from duetime.contracts.explain import Fault
from duetime.contracts.ids import id_of_key, new_id
from duetime.contracts.job import JobSpec
from duetime.contracts.record import IDEMPOTENCY, Record
from duetime.contracts.requests import Submission
from duetime.contracts.states import State
from duetime.contracts.view import JobView
from duetime.jobs.state import record_of
from duetime.starting import Take, begin, plan_start


@dataclass(frozen=True)
class _Claim:
    """How the id may be taken: strictly new at first, wider once the job that has it is known."""

    take: Take = Take.NEW
    #: The highest fencing token of that job.
    token_floor: int = 0

    @property
    def carry(self) -> dict[str, Any] | None:
        """What the new job is told of the one before it."""
        if not self.token_floor:
            return None
        return Carry.fresh().model_copy(update={"record": Record(token_floor=self.token_floor)}).compact()


class Submitter:
    """Turns submissions of `caller` into workflows."""

    def __init__(self, client: Client, reader: Reader, check: KindCheck, caller: Caller = ANYBODY) -> None:
        self._client = client
        self._reader = reader
        self._check = check
        self._caller = caller

    def on_behalf_of(self, caller: Caller, reader: Reader) -> "Submitter":
        """The same for another caller, who reads with `reader`."""
        return Submitter(self._client, reader, self._check, caller)

    @in_time()
    async def submit(self, submission: Submission, key: str | None, body: Any) -> Accepted[JobView]:
        """Accepts a job. It is durable when this returns; `Problem` when it was refused, or nobody knows."""
        self._caller.check_submission(submission.kind, submission.queue, submission.on_conflict)
        job_id = submission.id or (id_of_key(key) if key else new_id(datetime.now(UTC)))
        wanted = hashes(key, body) if key else None
        try:
            job, warnings = await self._check.check(submission, self._caller)
            await self._check_order(job, job_id)
            warnings += await limit_warnings(self._client, job, self._caller)
        except Problem:
            # What was accepted once is answered again, whatever was announced or forgotten since.
            if wanted is not None and (there := await self._replay(job_id, wanted)):
                return there
            raise

        async def start(claim: _Claim) -> JobView:
            accepted = await self._start(job, job_id, wanted, claim)
            return accepted.model_copy(update={"warnings": warnings})

        return await accept(job_id, _Claim(), start, lambda: self._taken(submission, job_id, wanted))

    async def _start(
        self, job: JobSpec, job_id: str, wanted: dict[str, str] | None, claim: _Claim
    ) -> JobView:
        try:
            plan = plan_start(job, job_id, datetime.now(UTC))
        except ValueError as error:
            pointer = "/run_at" if job.run_at is not None else "/delay"
            raise invalid([{"pointer": pointer, "message": str(error)}]) from None
        memo = {IDEMPOTENCY: wanted} if wanted else None
        handle = await begin(self._client, plan, claim.take, memo, claim.carry)
        job_submitted(plan.spec.kind, plan.spec.queue)
        run_id = handle.first_execution_run_id or ""
        return self._accepted(plan.spec, job_id, run_id, plan.due_at, plan.accepted_at)

    async def _check_order(self, job: JobSpec, job_id: str) -> None:
        """Every job named in `after` must be known, and another one."""
        known = await asyncio.gather(*(self._reader.exists(i) for i in job.after if i != job_id))
        others = iter(known)
        faults: list[Fault] = []
        for index, name in enumerate(job.after):
            if name == job_id:
                faults.append({"pointer": f"/after/{index}", "message": "a job cannot come after itself"})
            elif not next(others):
                faults.append({"pointer": f"/after/{index}", "message": f"no job has the id {name!r}"})
        if faults:
            raise invalid(faults)

    def _accepted(self, spec: JobSpec, job_id: str, run_id: str, due: datetime, now: datetime) -> JobView:
        return JobView(
            id=job_id,
            run_id=run_id,
            kind=spec.kind,
            queue=spec.queue,
            state=State.SCHEDULED if due > now else State.WAITING if spec.after else State.QUEUED,
            payload=spec.payload,
            tags=spec.tags,
            priority=spec.priority,
            created_at=now,
            due_at=due,
            late_by=now - due if due < now else None,
            max_attempts=spec.retry.max_attempts,
            links=self._reader.links(job_id),
        )

    async def _replay(self, job_id: str, wanted: dict[str, str]) -> Accepted[JobView] | None:
        """The job that this key and body made before."""
        try:
            facts = await self._reader.facts(job_id)
        except Problem:
            return None
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        if match(facts, wanted) is not Match.SAME:
            return None
        return Accepted(self._reader.view(facts), created=False, replayed=True)

    async def _taken(
        self, submission: Submission, job_id: str, wanted: dict[str, str] | None
    ) -> Accepted[JobView] | _Claim:
        """The id is taken: the job that has it, a wider start, or a refusal."""
        facts = await self._reader.known(job_id)
        if facts is None:
            raise in_use(
                "a job of another caller, or a workflow of another type, has this id; choose another"
            )
        verdict = judge(facts, wanted, submission)
        job, floor = self._reader.view(facts), record_of(facts).highest_token
        match verdict:
            case Verdict.REPLAY | Verdict.RETURN:
                return Accepted(job, created=False, replayed=verdict is Verdict.REPLAY)
            case Verdict.AGAIN:
                return _Claim(Take.AGAIN, floor)
            case Verdict.REPLACE:
                return _Claim(Take.REPLACE_ANY if submission.reuse_id else Take.REPLACE, floor)
            case Verdict.REFUSE:
                # The job is for those who may read it.
                told = {"job": job.model_dump(mode="json")} if self._caller.may(Scope.READ) else {}
                raise refused(facts, f"a job that is {job.state}", **told)
