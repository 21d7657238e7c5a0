"""What the runs of a schedule are to be: may the caller submit it, can it work, and which defaults does it take."""

from dataclasses import dataclass
from typing import Any

from api.jobs.reading import Reader
from api.kinds.checking import KindCheck
from api.pipelines.checking import PipelineCheck
from api.problems import Problem, invalid
from api.security.caller import Caller
from duetime.contracts.explain import Fault
from duetime.contracts.job import JobSpec
from duetime.contracts.json_value import JsonValueError
from duetime.contracts.pipeline_requests import PipelineSubmission
from duetime.contracts.pipeline_rules import pipeline_faults
from duetime.contracts.schedule import JobTemplate, ScheduleSpec
from duetime.contracts.schedule_pipeline import PipelineTemplate, check_template
from duetime.schedules.ids import longest_id


@dataclass(frozen=True)
class Checked:
    """The job or the pipeline of each run with the defaults of its kinds, compact, and what to warn of."""

    job: dict[str, Any]
    pipeline: dict[str, Any] | None
    warnings: list[str]


@dataclass(frozen=True)
class WorkCheck:
    """Checks jobs against their kinds; pipelines as those that are submitted. `reader` reads other jobs."""

    kinds: KindCheck
    reader: Reader

    def check_caller(self, spec: ScheduleSpec, caller: Caller) -> None:
        """Passes when the caller may submit what runs; a `403` problem with pointers to it otherwise."""
        try:
            if spec.job is not None:
                caller.check_submission(spec.job.kind, spec.job.queue)
            elif spec.pipeline is not None:
                self._pipelines(caller).check_caller(_submission(spec.pipeline))
        except Problem as problem:
            raise below(problem, _place(spec)) from None

    async def check(self, schedule_id: str, spec: ScheduleSpec, caller: Caller) -> Checked:
        """What runs, as it is kept; a `422` problem with pointers to what is wrong with it."""
        try:
            if spec.pipeline is not None:
                return await self._checked_pipeline(schedule_id, spec.pipeline, caller)
            assert spec.job is not None
            job, warnings = await self.kinds.check_job(_plain(spec.job), caller)
            return Checked(job.compact(), None, warnings)
        except Problem as problem:
            raise below(problem, _place(spec)) from None

    async def _checked_pipeline(
        self, schedule_id: str, template: PipelineTemplate, caller: Caller
    ) -> Checked:
        check = self._pipelines(caller)
        pipeline, warnings = await check.check(_submission(template), longest_id(schedule_id))
        try:
            check_template(pipeline)  # it may have grown by the defaults of its kinds
        except JsonValueError as error:
            raise invalid([{"pointer": error.pointer, "message": str(error)}]) from None
        return Checked({}, pipeline.compact(), warnings)

    def _pipelines(self, caller: Caller) -> PipelineCheck:
        return PipelineCheck(self.kinds, self.reader, caller)


def graph_faults(schedule_id: str, spec: ScheduleSpec) -> list[Fault]:
    """What is wrong with the pipeline of a schedule by itself, whatever its kinds."""
    if spec.pipeline is None:
        return []
    found = pipeline_faults(spec.pipeline, longest_id(schedule_id))
    return [{"pointer": f"/pipeline{fault['pointer']}", "message": fault["message"]} for fault in found]


def below(problem: Problem, place: str) -> Problem:
    """A problem of a part as one of the whole, in which the part is at `place`."""
    errors: list[Fault] = [
        {"pointer": f"{place}{fault['pointer']}", "message": fault["message"]}
        for fault in problem.errors or []
    ]
    detail = "; ".join(f"{fault['pointer']}: {fault['message']}" for fault in errors) or problem.detail
    return Problem(problem.status, problem.name, problem.title, detail[:2000], errors=errors or None)


def _place(spec: ScheduleSpec) -> str:
    return "/pipeline" if spec.pipeline is not None else "/job"


def _plain(template: JobTemplate) -> JobSpec:
    fields = {name: getattr(template, name) for name in template.model_fields_set}
    return JobSpec.model_construct(_fields_set=set(fields), **fields)


def _submission(template: PipelineTemplate) -> PipelineSubmission:
    fields: dict[str, Any] = {name: getattr(template, name) for name in template.model_fields_set}
    return PipelineSubmission.model_construct(_fields_set=set(fields), **fields)
