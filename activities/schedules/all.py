"""All activities of schedules, for the worker that runs their entities."""

from collections.abc import Callable
from typing import Any

from temporalio.client import Client

from activities.schedules.backfilling import Backfilling
from activities.schedules.catching_up import CatchingUp
from activities.schedules.keeping import Keeping
from activities.schedules.triggering import Triggering


def schedule_activities(client: Client) -> list[Callable[..., Any]]:
    """Their methods, over a connection to the namespace of the schedules."""
    keeping, catching_up = Keeping(client), CatchingUp(client)
    triggering, backfilling = Triggering(client), Backfilling(client)
    return [
        keeping.look,
        keeping.apply,
        keeping.remove,
        catching_up.judge,
        catching_up.make_up,
        triggering.pick,
        triggering.trigger,
        triggering.start,
        backfilling.backfill,
    ]
