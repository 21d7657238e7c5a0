"""What must be right of a pipeline before it is accepted: its graph, its sizes, and each job against its kind."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from api.jobs.reading import Reader
from api.kinds.checking import Judged, KindCheck
from api.problems import Problem, invalid, too_large
from api.security.caller import Caller
from api.together import together
from duetime.contracts import limits
from duetime.contracts.explain import Fault, bounded
from duetime.contracts.json_value import JsonTooLarge, JsonValueError, check_json
from duetime.contracts.pipeline import PipelineJob, PipelineSpec
from duetime.contracts.pipeline_requests import PipelineSubmission
from duetime.contracts.pipeline_rules import pipeline_faults
from duetime.contracts.references import find

_AT_ONCE = 32
#: Jobs outside of it that a pipeline may come after, all its jobs together.
_AFTER = 1_000
_WARNINGS = 100
#: How a schema says that a member is missing, or one too many: true however a reference in that object comes out.
_ABOUT_MEMBERS = ("is a required property", "were unexpected)", "was unexpected)")


class PipelineCheck:
    """Checks pipelines for `caller`, who reads other jobs with `reader`."""

    def __init__(self, kinds: KindCheck, reader: Reader, caller: Caller) -> None:
        self._kinds = kinds
        self._reader = reader
        self._caller = caller

    def check_caller(self, submission: PipelineSubmission) -> None:
        """Passes when the caller may submit every job of it; a `403` problem that names the fields otherwise."""
        faults: list[Fault] = []
        refused: Problem | None = None
        for name, job in submission.jobs.items():
            try:
                self._caller.check_submission(job.kind, job.queue)
            except Problem as problem:
                refused = problem
                faults += within(name, problem.errors or ())
        try:
            first = next(iter(submission.jobs.values()))
            self._caller.check_submission(first.kind, first.queue, submission.on_conflict)
        except Problem as problem:
            refused = problem
            faults += [fault for fault in problem.errors or () if fault["pointer"] == "/on_conflict"]
        if refused is not None:
            told = bounded(faults, len(faults))
            detail = "; ".join(f"{fault['pointer']}: {fault['message']}" for fault in told)
            raise Problem(refused.status, refused.name, refused.title, detail[:2000], errors=told)

    async def check(self, submission: PipelineSubmission, pipeline_id: str) -> tuple[PipelineSpec, list[str]]:
        """The pipeline with the defaults of its kinds, and what to warn of; a problem when it cannot work."""
        spec = submission.pipeline()
        _check_payloads(spec)
        faults = pipeline_faults(spec, pipeline_id) or [*_time_faults(spec), *await self._order_faults(spec)]
        if faults:
            raise invalid(faults)
        judged = await self._judge(spec)
        faults = [fault for name, one in judged.items() for fault in within(name, _certain(one))]
        if faults:
            raise invalid(bounded(faults, len(faults)))
        spec = spec.model_copy(update={"jobs": {name: one.job for name, one in judged.items()}})
        _check_size(spec)
        warnings = dict.fromkeys(warning for one in judged.values() for warning in one.warnings)
        return spec, list(warnings)[:_WARNINGS]

    async def _judge(self, spec: PipelineSpec) -> dict[str, Judged[PipelineJob]]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def judge(job: PipelineJob) -> Judged[PipelineJob]:
            async with places:
                return await self._kinds.judge(job, self._caller)

        judged = await together(judge(job) for job in spec.jobs.values())
        return dict(zip(spec.jobs, judged, strict=True))

    async def _order_faults(self, spec: PipelineSpec) -> list[Fault]:
        """Every job named in `after` must be known."""
        named = list(dict.fromkeys(other for job in spec.jobs.values() for other in job.after))
        if len(named) > _AFTER:
            message = f"its jobs come after {len(named):,} others with `after`; at most {_AFTER:,}"
            return [{"pointer": "/jobs", "message": message}]
        places = asyncio.Semaphore(_AT_ONCE)

        async def exists(job_id: str) -> bool:
            async with places:
                return await self._reader.exists(job_id)

        known = await together(exists(job_id) for job_id in named)
        missing = {job_id for job_id, found in zip(named, known, strict=True) if not found}
        return [
            {"pointer": f"/jobs/{name}/after/{index}", "message": f"no job has the id {other!r}"}
            for name, job in spec.jobs.items()
            for index, other in enumerate(job.after)
            if other in missing
        ]


def within(name: str, faults: Iterable[Fault]) -> list[Fault]:
    """Faults of a job as those of the pipeline that has it under this name."""
    return [{"pointer": f"/jobs/{name}{fault['pointer']}", "message": fault["message"]} for fault in faults]


def _check_payloads(spec: PipelineSpec) -> None:
    """`413` for a payload over its bound, as for a job alone."""
    for name, job in spec.jobs.items():
        try:
            check_json(job.payload, limits.PAYLOAD_BYTES)
        except JsonTooLarge as error:
            raise too_large(f"the payload of {name!r}", error.size, error.limit) from None
        except JsonValueError:
            continue  # told with the other faults


def _time_faults(spec: PipelineSpec) -> Iterator[Fault]:
    """Of times to run: counted from now, although a job's own begins when its needs have ended."""
    now = datetime.now(UTC)
    for name, job in spec.jobs.items():
        try:
            job.moment(now)
        except ValueError as error:
            field = "run_at" if job.run_at is not None else "delay"
            yield {"pointer": f"/jobs/{name}/{field}", "message": str(error)}


def _check_size(spec: PipelineSpec) -> None:
    try:
        check_json(spec.compact(), limits.PIPELINE_BYTES, depth=limits.JSON_DEPTH + 5)
    except JsonTooLarge as error:
        raise too_large("the pipeline", error.size, error.limit) from None
    except JsonValueError as error:
        raise invalid([{"pointer": error.pointer, "message": str(error)}]) from None


def _certain(judged: Judged[PipelineJob]) -> list[Fault]:
    """The faults that hold whatever the references in the payload come to."""
    unknown = [pointer for pointer, _ in find(judged.job.payload, "/payload")]
    return [fault for fault in judged.faults if not any(_hangs_on(fault, pointer) for pointer in unknown)]


def _hangs_on(fault: Fault, reference: str) -> bool:
    at = fault["pointer"]
    if at == reference or at.startswith(f"{reference}/"):
        return True
    return reference.startswith(f"{at}/") and not fault["message"].endswith(_ABOUT_MEMBERS)
