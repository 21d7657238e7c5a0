"""Looking up what a call can do without: what is slow or away costs it a part of its time, not its success."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from temporalio.service import RPCError

from api.patience import time_left

log = logging.getLogger("duetime.api")

#: The part of the time left to a call that one look-up may take.
SHARE = 1 / 3
#: Seconds for which nobody asks again after a look-up that failed: each call would wait anew.
PAUSE = 5.0

Result = TypeVar("Result")


class Dispensable:
    """One thing to look up; `what` names it in the log."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._ask_again_at = float("-inf")

    async def ask(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result | None:
        """What `call()` returns; `None` when it fails, takes too long, or did so some seconds ago."""
        if time.monotonic() < self._ask_again_at:
            return None
        try:
            async with asyncio.timeout(time_left() * SHARE):
                return await call()
        except (RPCError, TimeoutError) as error:
            self._ask_again_at = time.monotonic() + PAUSE
            log.warning("%s cannot be looked up now: %s", self._what, error or "no answer in time")
            return None
