"""When a workflow's start delay was over: the server knows, and does not tell the workflow."""

from temporalio import activity
from temporalio.client import Client

from duetime.contracts.instants import format_instant

#: The name of the activity.
EXECUTION_TIME = "duetime.execution-time"


class ExecutionTime:
    """Reads it from the server; `client` is a connection to the job's namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=EXECUTION_TIME)
    async def read(self) -> str:
        """The time of the asking workflow's start with its start delay, RFC 3339 in UTC."""
        info = activity.info()
        handle = self._client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
        described = await handle.describe()
        return format_instant(described.execution_time or described.start_time)
