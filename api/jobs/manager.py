"""The parts that routes on jobs call, wired once for each app."""

from dataclasses import dataclass, replace

from fastapi import Request
from temporalio.client import Client

from api.jobs.batch import BatchSubmitter
from api.jobs.control import Controller
from api.jobs.counting import Counting
from api.jobs.errors import ErrorCounting
from api.jobs.hub import Hub
from api.jobs.listing import Lister
from api.jobs.reading import Reader
from api.jobs.redrive import Redriver
from api.jobs.submission import Submitter
from api.kinds.checking import KindCheck
from api.kinds.known import Known
from api.kinds.pollers import Pollers
from api.security.caller import Caller, WhoCalls


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
    errors: ErrorCounting
    batches: BatchSubmitter
    events: Hub
    check: KindCheck
    ui_url: str
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
            ErrorCounting(client),
            BatchSubmitter(submitter),
            Hub(reader),
            check,
            ui_url,
        )

    def seen_by(self, caller: Caller) -> "Jobs":
        """The same within what `caller` may see and submit; every other job is unknown here."""
        reader = self.reader.seen_by(caller)
        submitter = self.submitter.on_behalf_of(caller, reader)
        return replace(
            self,
            reader=reader,
            submitter=submitter,
            controller=self.controller.reading_with(reader),
            redriver=self.redriver.reading_with(reader),
            lister=self.lister.seen_by(caller, reader),
            counting=self.counting.seen_by(caller),
            errors=self.errors.seen_by(caller),
            batches=self.batches.submitting_with(submitter),
        )


async def jobs_of(request: Request, caller: WhoCalls) -> Jobs:
    """The manager of the app that serves this request, as its caller sees it."""
    found = request.app.state.jobs
    assert isinstance(found, Jobs)
    return found.seen_by(caller)
