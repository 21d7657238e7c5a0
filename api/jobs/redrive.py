"""Redrive on demand: what `duetime.jobs.redrive` does, answered with the job as it is then."""

from urllib.parse import quote

from temporalio.client import Client

from api.jobs.reading import Reader
from api.patience import in_time
from api.problems import Problem
from duetime.contracts.requests import RedriveRequest
from duetime.contracts.view import JobView
from duetime.jobs.redrive import redrive
from duetime.jobs.refusal import NotNow


class Redriver:
    """Starts final jobs again."""

    def __init__(self, client: Client, reader: Reader) -> None:
        self._client = client
        self._reader = reader

    def reading_with(self, reader: Reader) -> "Redriver":
        """The same for whoever `reader` reads for."""
        return Redriver(self._client, reader)

    @in_time()
    async def redrive(self, job_id: str, request: RedriveRequest) -> JobView:
        """The job as it is with its new run; a `409` problem when it is open, succeeded, or another run's."""
        facts = await self._reader.facts(job_id)
        try:
            await redrive(self._client, facts, request)
        except NotNow as refused:
            raise _refused(await self._reader.job(job_id), str(refused)) from None
        return await self._reader.job(job_id)


def _refused(job: JobView, why: str) -> Problem:
    extra = {"state": job.state, "job": job.model_dump(mode="json")}
    if job.pipeline_id is not None:
        extra["pipeline_id"] = job.pipeline_id
        why = f"{why} (POST /v1/pipelines/{quote(job.pipeline_id, safe=':~')}:retry)"
    return Problem(409, "wrong-state", "Not in this state", why, extra=extra)
