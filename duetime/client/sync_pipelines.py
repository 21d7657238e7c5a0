"""`SyncClient.pipelines`: the same without `await`."""

from duetime.client.face import Face, each, now
from duetime.client.pipelines import Pipelines


class SyncPipelines(Face[Pipelines]):
    """`Pipelines` for code without asyncio: the same arguments, methods, answers and exceptions."""

    submit = now(Pipelines.submit)
    submit_spec = now(Pipelines.submit_spec)
    get = now(Pipelines.get)
    wait_for = now(Pipelines.wait_for)
    list = each(Pipelines.list)
    page = now(Pipelines.page)
    events = each(Pipelines.events)
    graph = now(Pipelines.graph)
    cancel = now(Pipelines.cancel)
    retry = now(Pipelines.retry)
