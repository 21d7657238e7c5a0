"""The attempts of a job as its worker told them last, for the workflow that is about to cancel its activity.

The server keeps what the last heartbeat said only as long as the activity, and gives it to nobody when an activity is
cancelled that waits for its retry.
"""

from typing import Any

from temporalio import activity
from temporalio.client import Client

from duetime.contracts.record import Record, read_sign

#: The name of the activity.
LAST_RECORD = "duetime.last-record"


class LastRecord:
    """Reads it from the server; `client` is a connection to the job's namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=LAST_RECORD)
    async def read(self, activity_id: str) -> dict[str, Any]:
        """The record in the last heartbeat of that activity of the asking workflow, compact; empty without one."""
        info = activity.info()
        handle = self._client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
        for pending in (await handle.describe()).raw_description.pending_activities:
            if pending.activity_id == activity_id:
                said = await self._client.data_converter.decode(pending.heartbeat_details.payloads)
                sign = read_sign(said)
                return (sign.record if sign else Record()).compact()
        return {}
