"""`SyncClient.schedules`: the same without `await`."""

from duetime.client.face import Face, each, now
from duetime.client.schedules import Schedules


class SyncSchedules(Face[Schedules]):
    """`Schedules` for code without asyncio: the same arguments, methods, answers and exceptions."""

    put = now(Schedules.put)
    get = now(Schedules.get)
    delete = now(Schedules.delete)
    page = now(Schedules.page)
    list = each(Schedules.list)
    apply = now(Schedules.apply)
    preview = now(Schedules.preview)
    forecast = now(Schedules.forecast)
    occurrences = each(Schedules.occurrences)
    pause = now(Schedules.pause)
    resume = now(Schedules.resume)
    trigger = now(Schedules.trigger)
    skip = now(Schedules.skip)
    backfill = now(Schedules.backfill)
