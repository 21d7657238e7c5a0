"""How an activity ended when it did not return, from the exception that the SDK makes of it."""

from temporalio.exceptions import ApplicationError, CancelledError, TimeoutError, TimeoutType

from duetime.contracts.record import read_sign
from duetime.decisions import Ended, How

_TIMEOUTS = {TimeoutType.HEARTBEAT: How.LEASE_LOST, TimeoutType.SCHEDULE_TO_START: How.NOT_STARTED}


def ended_by(
    cause: BaseException | None, worker: str | None, *, began: bool, retryable: bool = False, text: str = ""
) -> Ended:
    """The facts of an end. `worker` had it last, `began` says whether it was handed out at all, `retryable` whether the
    server would have tried again; `text` is for an end without a cause."""
    if isinstance(cause, ApplicationError):
        return Ended(
            How.FAILED,
            cause.type or "",
            cause.message,
            read_sign(cause.details),
            worker,
            retryable=retryable,
            delay=cause.next_retry_delay,
        )
    if isinstance(cause, TimeoutError):
        how = _TIMEOUTS.get(cause.type or TimeoutType.START_TO_CLOSE, How.TIMED_OUT)
        heard = bool(cause.last_heartbeat_details)
        return Ended(how, sign=read_sign(cause.last_heartbeat_details), worker=worker, heard=heard)
    if isinstance(cause, CancelledError):
        return Ended(How.CANCELLED, sign=read_sign(cause.details), worker=worker, heard=began)
    return Ended(How.FAILED, type(cause).__name__, str(cause or text), worker=worker)
