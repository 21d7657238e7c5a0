"""The parts that routes on pipelines call, wired once for each app."""

from dataclasses import dataclass, replace

from fastapi import Request
from temporalio.client import Client

from api.jobs.manager import Jobs
from api.pipelines.checking import PipelineCheck
from api.pipelines.control import PipelineController
from api.pipelines.hub import PipelineHub
from api.pipelines.listing import PipelineLister
from api.pipelines.reading import PipelineReader
from api.pipelines.redrive import PipelineRedriver
from api.pipelines.submission import PipelineSubmitter
from api.security.caller import ANYBODY, Caller, WhoCalls


@dataclass(frozen=True)
class Pipelines:
    """Everything about pipelines."""

    jobs: Jobs
    reader: PipelineReader
    submitter: PipelineSubmitter
    controller: PipelineController
    redriver: PipelineRedriver
    lister: PipelineLister
    events: PipelineHub

    @classmethod
    def over(cls, client: Client, ui_url: str, jobs: Jobs) -> "Pipelines":
        reader = PipelineReader(client, ui_url)
        check = PipelineCheck(jobs.check, jobs.reader, ANYBODY)
        return cls(
            jobs,
            reader,
            PipelineSubmitter(client, reader, check),
            PipelineController(client, reader, jobs.controller),
            PipelineRedriver(client, reader),
            PipelineLister(client, reader),
            PipelineHub(reader),
        )

    @property
    def key_lifetime(self) -> str:
        """Told with every answer to an Idempotency-Key."""
        return self.jobs.key_lifetime.replace("the job", "the pipeline")

    def seen_by(self, caller: Caller) -> "Pipelines":
        """The same within what `caller` may see and submit; every other pipeline is unknown here."""
        jobs, reader = self.jobs.seen_by(caller), self.reader.seen_by(caller)
        check = PipelineCheck(jobs.check, jobs.reader, caller)
        return replace(
            self,
            jobs=jobs,
            reader=reader,
            submitter=self.submitter.on_behalf_of(caller, reader, check),
            controller=self.controller.reading_with(reader, jobs.controller),
            redriver=self.redriver.reading_with(reader),
            lister=self.lister.seen_by(caller, reader),
        )


async def pipelines_of(request: Request, caller: WhoCalls) -> Pipelines:
    """The manager of the app that serves this request, as its caller sees it."""
    found = request.app.state.pipelines
    assert isinstance(found, Pipelines)
    return found.seen_by(caller)
