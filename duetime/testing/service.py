"""The fake's API: the same requests, rules and refusals as `/v1`, on a `World`. Nothing here waits."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from duetime.contracts.explain import Fault
from duetime.contracts.ids import id_of_key, new_id
from duetime.contracts.job import JobSpec
from duetime.contracts.kinds import KindEntry, with_defaults
from duetime.contracts.record import Record
from duetime.contracts.requests import CancelRequest, Patch, RedriveRequest, Submission
from duetime.contracts.states import State
from duetime.contracts.view import JobView
from duetime.errors import ApiError, invalid_field, problem_error
from duetime.payloads import payload_faults
from duetime.predecessors import Predecessors
from duetime.registry import entries_of
from duetime.testing.job import FakeJob, Phase
from duetime.testing.world import World, states_of


class Service:
    """What callers can do."""

    def __init__(self, world: World) -> None:
        self._world = world

    def job(self, job_id: str) -> FakeJob:
        """The job of this id; `NotFound` when there is none."""
        found = self._world.jobs.get(job_id)
        if found is None:
            raise problem_error(404, "not-found", "Not found", f"no job has the id {job_id!r}")
        return found

    def view(self, job: FakeJob, warnings: list[str] | None = None) -> JobView:
        return job.view(self._world.now, warnings)

    def entries(self) -> list[KindEntry]:
        """What workers would have announced."""
        queues = self._world.queues.items()
        return [entry for queue, handlers in queues for entry in entries_of(handlers.values(), [queue])]

    # -- submitting ---------------------------------------------------------------------------------------

    def submit(self, submission: Submission, key: str | None, body: Any) -> tuple[JobView, bool, bool]:
        """The job, whether it is new, and whether the key brought it back."""
        job_id = submission.id or (id_of_key(key) if key else new_id(self._world.now))
        wanted = (key, json.dumps(body, sort_keys=True)) if key is not None else None
        there = self._world.jobs.get(job_id)
        if there is not None and wanted is not None and there.key is not None and there.key[0] == wanted[0]:
            if there.key == wanted:
                return self.view(there), False, True
            raise _other_body()
        spec, warnings = self._checked(submission, job_id)
        if there is not None:
            taken = self._taken(there, submission)
            if taken is not None:
                return taken, False, False
        return self.view(self._accept(spec, job_id, wanted, submission), warnings), True, False

    def _taken(self, there: FakeJob, submission: Submission) -> JobView | None:
        """The job to answer with in place of a new one; `None` when the id can be had, by now."""
        state = there.state(self._world.now)
        if not there.is_open:
            if submission.reuse_id:
                return None
            how = 'is finished; send "reuse_id": true to use the id again'
            raise self._conflict("id-in-use", f"a job that is {state} has this id and {how}", there)
        match submission.on_conflict:
            case "return":
                return self.view(there)
            case "replace":
                self._world.terminate(there, "replaced")
                return None
        how = "is still open; `on_conflict` says what else to do"
        raise self._conflict("id-in-use", f"a job that is {state} has this id and {how}", there)

    def _accept(
        self, spec: JobSpec, job_id: str, key: tuple[str, str] | None, submission: Submission
    ) -> FakeJob:
        now = self._world.now
        try:
            settled = spec.settled(job_id, now)
        except ValueError as error:
            pointer = "/run_at" if submission.run_at is not None else "/delay"
            raise invalid_field([{"pointer": pointer, "message": str(error)}]) from None
        return self._add(settled, job_id, key=key)

    def _add(self, spec: JobSpec, job_id: str, **more: Any) -> FakeJob:
        now = self._world.now
        predecessors = Predecessors(spec.after)
        predecessors.learn(states_of(self._world.jobs, spec.after))
        job = FakeJob(
            id=job_id,
            number=self._world.next_number(),
            spec=spec,
            created_at=now,
            due_at=spec.due_at(job_id, now),
            priority=spec.priority,
            predecessors=predecessors,
            **more,
        )
        self._world.jobs[job_id] = job
        self._world.changed()
        return job

    def _checked(self, submission: Submission, job_id: str) -> tuple[JobSpec, list[str]]:
        job, warnings = submission.job(), []
        entries = {entry.queue: entry for entry in self.entries() if entry.kind == job.kind}
        entry = entries.get(job.queue) or next(iter(entries.values()), None)
        if entry is None:
            warnings.append(f"no worker ever announced the kind {job.kind!r}: the job waits until one does")
        else:
            if faults := payload_faults(entry, job.payload):
                raise invalid_field(faults)
            job = with_defaults(job, entry.defaults)
            if job.queue not in entries:
                queues = ", ".join(sorted(entries))
                warnings.append(f"the kind {job.kind!r} was announced on {queues}, not on {job.queue!r}")
        if job.queue not in self._world.queues:
            warnings.append(f"no worker polls the queue {job.queue!r} (no_active_workers)")
        self._check_order(job, job_id)
        return job, warnings

    def _check_order(self, job: JobSpec, job_id: str) -> None:
        faults: list[Fault] = []
        for index, name in enumerate(job.after):
            if name == job_id:
                faults.append({"pointer": f"/after/{index}", "message": "a job cannot come after itself"})
            elif name not in self._world.jobs:
                faults.append({"pointer": f"/after/{index}", "message": f"no job has the id {name!r}"})
        if faults:
            raise invalid_field(faults)

    # -- commands -----------------------------------------------------------------------------------------

    def move(self, job_id: str, patch: Patch) -> JobView:
        job = self.job(job_id)
        state = job.state(self._world.now)
        if state not in (State.SCHEDULED, State.QUEUED):
            raise self._too_late(job, "can be changed only while scheduled or queued")
        try:
            due_at = patch.moment(self._world.now)
        except ValueError as error:
            pointer = "/run_at" if patch.run_at is not None else "/delay"
            raise invalid_field([{"pointer": pointer, "message": str(error)}]) from None
        job.priority = patch.priority or job.priority
        if due_at is not None:
            job.due_at = due_at
            if job.phase is not Phase.WAITING:
                job.record = job.told()
                job.phase, job.details, job.next_at = Phase.WAITING, [], None
        self._world.changed()
        return self.view(job)

    def run_now(self, job_id: str) -> JobView:
        job, now = self.job(job_id), self._world.now
        if job.state(now) not in (State.SCHEDULED, State.RETRYING):
            raise self._too_late(job, "can be started early only while scheduled or retrying")
        if job.phase is Phase.WAITING:
            job.due_at = min(job.due_at, now)
        else:
            job.next_at = now
        self._world.changed()
        return self.view(job)

    def cancel(self, job_id: str, request: CancelRequest) -> tuple[JobView, timedelta | None]:
        """The job, and the grace after which it is to be given up when it still runs then."""
        job = self.job(job_id)
        reason = request.reason or "cancelled"
        grace = None
        if job.is_open:
            if job.attempt is not None and job.attempt.lost_at is None and request.mode == "graceful":
                self._world.stop(job, job.attempt, reason)
                grace = request.grace
            else:
                self._world.terminate(job, reason)
        elif job.final is not State.CANCELLED:
            raise self._too_late(job, "is final and cannot be cancelled")
        return self.view(job), grace

    def redrive(self, job_id: str, request: RedriveRequest) -> JobView:
        job = self.job(job_id)
        if request.run_id is not None and request.run_id != job.run_id:
            raise self._wrong_state(job, f"the newest run is {job.run_id}, not {request.run_id}")
        if job.is_open:
            raise self._wrong_state(job, "the job is still open; only a final one can be redriven")
        if job.final is State.SUCCEEDED and not request.force:
            how = 'send "force": true to run it again all the same'
            raise self._wrong_state(job, f"the job has succeeded; {how}")
        nothing: dict[str, Any] = {
            "run_at": None,
            "timezone": None,
            "delay": None,
            "spread": timedelta(0),
            "after": [],
        }
        kept = job.record.checkpoint if request.begin == "checkpoint" else None
        again = self._add(
            job.spec.model_copy(update=nothing),
            job_id,
            key=job.key,
            idempotency_key=job.idempotency_key,
            record=Record(checkpoint=kept),
        )
        again.priority = job.priority
        return self.view(again)

    # -- refusals -----------------------------------------------------------------------------------------

    def _too_late(self, job: FakeJob, what: str) -> ApiError:
        return self._wrong_state(job, f"the job is {job.state(self._world.now)}; it {what}")

    def _wrong_state(self, job: FakeJob, why: str) -> ApiError:
        return self._conflict("wrong-state", why, job, state=job.state(self._world.now))

    def _conflict(self, name: str, detail: str, job: FakeJob, **more: Any) -> ApiError:
        title = "The id is in use" if name == "id-in-use" else "Not in this state"
        return problem_error(409, name, title, detail, job=self.view(job).model_dump(mode="json"), **more)


def _other_body() -> ApiError:
    detail = "this Idempotency-Key came with another body before: use a new key for a new job, pipeline or operation"
    errors: list[Mapping[str, str]] = [{"pointer": "header Idempotency-Key", "message": detail}]
    title = "Idempotency-Key used with another body"
    return problem_error(422, "idempotency-key-reused", title, detail, errors=errors)
