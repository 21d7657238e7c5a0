"""What the server is handing out in the moment in which a worker stops polling.

The SDK cancels the open polls of a worker that shuts down. A job that the server has just given to one of them is then
lost for the length of its lease: on a busy queue that happens at every fourth shutdown or so (measured; with the
server's own `frontend.enableCancelWorkerPollsOnShutdown` at every eighth). The core of the SDK can wait before it
cancels: on a busy queue all open polls return in that time, with work that the worker still does, and on a quiet one
nothing is under way.
"""

import os
from datetime import timedelta

#: Read by the SDK's core when a worker is made (crates/sdk-core/src/pollers/poll_buffer.rs); of this process.
_VARIABLE = "TEMPORAL_POLL_SHUTDOWN_INTERRUPT_WAIT_MS"
LONGEST = timedelta(seconds=1)

_SAID_BY_THE_OPERATOR = _VARIABLE in os.environ


def let_polls_return(grace: timedelta = LONGEST) -> None:
    """Before a worker is made: its open polls get a second of its `grace` to return when it shuts down."""
    if not _SAID_BY_THE_OPERATOR:
        wait = max(timedelta(0), min(grace, LONGEST))
        os.environ[_VARIABLE] = str(wait // timedelta(milliseconds=1))
