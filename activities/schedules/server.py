"""The server's own schedules: how one stands, and what is asked of it. Calls of Temporal's WorkflowService.

The default scheduler takes commands as signals and keeps one of those that reach it together. A schedule's entity is
the only one that sends any, and every command here is followed by a look, which the scheduler answers only after it has
done what came before.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.schedule.v1 import SchedulePatch, TriggerImmediatelyRequest
from temporalio.api.workflowservice.v1 import DescribeScheduleRequest, PatchScheduleRequest
from temporalio.client import Client, ScheduleOverlapPolicy
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.schedule_book import MADE_BY, Server, Started
from duetime.cron.zones import VERSION


async def look(client: Client, schedule_id: str) -> Server:
    """How the server's schedule stands; one that it does not have is empty."""
    request = DescribeScheduleRequest(namespace=client.namespace, schedule_id=schedule_id)
    try:
        found = await client.workflow_service.describe_schedule(request, retry=True)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return Server(zones_version=VERSION)
        raise
    state, info = found.schedule.state, found.info
    return Server(
        exists=True,
        zones_version=VERSION,
        paused=state.paused,
        notes=state.notes,
        remaining=state.remaining_actions if state.limited_actions else None,
        missed=info.missed_catchup_window + info.buffer_dropped,
        fired=info.action_count,
        skipped=info.overlap_skipped,
        queued=info.buffer_size,
        running=[run.workflow_id for run in info.running_workflows],
        recent=[
            Started(id=one.start_workflow_result.workflow_id, at=_instant(one.actual_time))
            for one in info.recent_actions
        ],
        next=[_instant(stamp) for stamp in info.future_action_times],
        applied=await _applied(client, found.schedule.action.start_workflow.memo.fields.get(MADE_BY)),
    )


async def trigger(
    client: Client, schedule_id: str, nominal: datetime, overlap: ScheduleOverlapPolicy, request_id: str
) -> Server:
    """Has the server start, queue or skip a run under that nominal time, and looks at what came of it.

    The server takes the same `request_id` once.
    """
    stamp = Timestamp()
    stamp.FromDatetime(nominal.astimezone(UTC).replace(tzinfo=None))
    now = TriggerImmediatelyRequest(overlap_policy=int(overlap), scheduled_time=stamp)  # type: ignore[arg-type]
    await client.workflow_service.patch_schedule(
        PatchScheduleRequest(
            namespace=client.namespace,
            schedule_id=schedule_id,
            patch=SchedulePatch(trigger_immediately=now),
            identity=client.identity,
            request_id=request_id,
        ),
        retry=True,
    )
    return await look(client, schedule_id)


async def trigger_all(
    client: Client,
    schedule_id: str,
    times: Iterable[datetime],
    overlap: ScheduleOverlapPolicy,
    request_id: str,
) -> None:
    """The same for many, in their order."""
    for index, nominal in enumerate(times):
        await trigger(client, schedule_id, nominal, overlap, f"{request_id}-{index}")


async def _applied(client: Client, payload: object) -> int:
    if payload is None:
        return 0
    (made_by,) = await client.data_converter.decode([payload])  # type: ignore[list-item]
    applied = made_by.get("applied") if isinstance(made_by, dict) else None
    return applied if isinstance(applied, int) else 0


def _instant(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)
