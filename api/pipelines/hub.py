"""Listeners of pipelines."""

from api.jobs.hub import Board, News, Pace
from api.pipelines.reading import PipelineReader, no_such_pipeline
from api.problems import Problem
from api.security.caller import Caller
from duetime.contracts.pipeline_events import PipelineMoment


class PipelineHub(Board):
    """All who listen to pipelines at one API instance."""

    what = "pipelines"

    def __init__(self, reader: PipelineReader, pace: Pace | None = None) -> None:
        super().__init__(pace)
        self._reader = reader

    async def _read(self, key: str) -> News:
        return PipelineMoment(await self._reader.pipeline(key))

    def _shows(self, news: News, caller: Caller) -> bool:
        assert isinstance(news, PipelineMoment)
        return all(caller.may_see(job.kind, job.queue) for job in news.pipeline.jobs.values())

    def _unknown(self, key: str) -> Problem:
        return no_such_pipeline(key)
