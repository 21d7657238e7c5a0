"""The parts that routes on schedules call, wired once for each app."""

from dataclasses import dataclass, replace

from fastapi import Request
from temporalio.client import Client

from api.jobs.manager import Jobs
from api.queues.shared import Shared
from api.schedules.applying import Applier
from api.schedules.checking import WorkCheck
from api.schedules.commands import Commander
from api.schedules.figures import Tally, Teller, figures_of
from api.schedules.forecasting import Forecaster
from api.schedules.operations import Operator
from api.schedules.reading import ScheduleReader
from api.security.caller import Caller, WhoCalls


@dataclass(frozen=True)
class Schedules:
    """Everything about schedules."""

    reader: ScheduleReader
    commander: Commander
    operator: Operator
    #: How all stand, whoever may see them: one look for all who ask.
    tally: Shared[Tally]

    @classmethod
    def over(cls, client: Client, ui_url: str, jobs: Jobs) -> "Schedules":
        reader = ScheduleReader(client, ui_url.rstrip("/"))
        commander = Commander(client, reader, WorkCheck(jobs.check, jobs.reader))
        teller = Teller(reader.summaries, lambda schedule_id: figures_of(client, schedule_id))
        return cls(reader, commander, Operator(client, reader, commander), Shared(teller.look))

    @property
    def forecaster(self) -> Forecaster:
        return Forecaster(self.reader)

    @property
    def applier(self) -> Applier:
        return Applier(self.reader, self.commander)

    def seen_by(self, caller: Caller) -> "Schedules":
        """The same within what `caller` may see and submit."""
        reader = replace(self.reader, caller=caller)
        commander = replace(self.commander, reader=reader)
        operator = replace(self.operator, reader=reader, commander=commander)
        return replace(self, reader=reader, commander=commander, operator=operator)


async def schedules_of(request: Request, caller: WhoCalls) -> Schedules:
    """The manager of the app that serves this request, as its caller sees it."""
    found = request.app.state.schedules
    assert isinstance(found, Schedules)
    return found.seen_by(caller)
