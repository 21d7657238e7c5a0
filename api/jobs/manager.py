"""The parts that routes on jobs call, wired once for each app."""

from dataclasses import dataclass

from fastapi import Request
from temporalio.client import Client

from api.jobs.batch import BatchSubmitter
from api.jobs.control import Controller
from api.jobs.counting import Counting
from api.jobs.listing import Lister
from api.jobs.reading import Reader
from api.jobs.redrive import Redriver
from api.jobs.submission import Submitter
from api.kinds.checking import KindCheck
from api.kinds.known import Known
from api.kinds.pollers import Pollers


@dataclass(frozen=True)
class Jobs:
    """Everything about jobs. `key_lifetime` is told with every answer to an Idempotency-Key."""

    reader: Reader
    submitter: Submitter
    controller: Controller
    redriver: Redriver
    known: Known
    lister: Lister
    counting: Counting
    batches: BatchSubmitter
    key_lifetime: str = (
        "as long as the job is retained after its end (the retention of the Temporal namespace)"
    )

    @classmethod
    def over(cls, client: Client, ui_url: str, *, strict_kinds: bool = False) -> "Jobs":
        reader, known = Reader(client, ui_url), Known(client)
        check = KindCheck(known, Pollers(client), strict_kinds)
        submitter = Submitter(client, reader, check)
        return cls(
            reader,
            submitter,
            Controller(client, reader),
            Redriver(client, reader),
            known,
            Lister(client, reader),
            Counting(client),
            BatchSubmitter(submitter),
        )


def jobs_of(request: Request) -> Jobs:
    """The manager of the app that serves this request."""
    found = request.app.state.jobs
    assert isinstance(found, Jobs)
    return found
