"""How every program of Duetime ends: output flushed, then `os._exit`, whatever still runs.

A Python process that has used the Temporal client can crash while the interpreter shuts down (SIGSEGV or
SIGABRT, https://github.com/temporalio/sdk-python/issues/300), which loses buffered output and replaces the
exit code. Leaving without the interpreter's shutdown avoids it. The price: `atexit` functions do not run, so
a program closes what it opened before it returns.

What ignores that it must end cannot keep the process: neither a thread, nor a task that swallows its cancellation, nor
code that blocks the event loop.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, NoReturn

#: Exit code for wrong arguments or settings, as argparse and the shells have it.
EXIT_USAGE = 2
#: What a shell reports for a process that Ctrl-C ended: 128 + SIGINT.
EXIT_INTERRUPTED = 130

#: Seconds that tasks which nobody waited for get to clean up, once a program is done.
_LEFTOVERS = 1.0


def exit_process(code: int) -> NoReturn:
    """End this process now with `code`, after what was written and logged has gone out."""
    with contextlib.suppress(Exception):
        logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        # None under pythonw; a reader that has gone away must not change how we end.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def run_main(main: Callable[[], Coroutine[Any, Any, int | None]]) -> NoReturn:
    """Run `main()` to its end and end the process with the exit code it returns (`None` is 0).

    `SystemExit` keeps its code, Ctrl-C is 130, any other exception prints its traceback and is 1.

    >>> if __name__ == "__main__":
    ...     run_main(main)  # doctest: +SKIP
    """
    exit_process(_outcome(main))


def settle() -> None:
    """For a program that has loaded what it will serve with: the garbage collector looks at that no more.

    It would walk through all of it again and again, in vain, which a worker of short jobs feels
    (https://docs.python.org/3.11/library/gc.html#gc.freeze).
    """
    gc.collect()
    gc.freeze()


def stop_on_signals(last_resort: float) -> asyncio.Event:
    """An event that SIGTERM and Ctrl-C set. For the main thread.

    `last_resort` seconds after the first of them the process is ended with exit code 1, if by then it has not ended by
    itself: code that blocks the event loop cannot prevent that.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    asked, tell = os.pipe()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        # Python's own handler, not the loop's: it runs although the loop is blocked. It may interrupt any code, so it
        # takes no lock.
        loop.call_soon_threadsafe(stop.set)
        os.write(tell, b".")

    threading.Thread(target=_end_by_force, args=(asked, last_resort), name="last resort", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return stop


def _end_by_force(asked: int, last_resort: float) -> NoReturn:
    os.read(asked, 1)
    time.sleep(last_resort)
    # Without the loggers, whose locks the code that hangs may hold.
    os.write(2, f"still running {last_resort:.0f} s after it was told to stop: ended by force\n".encode())
    os._exit(1)


def _outcome(main: Callable[[], Coroutine[Any, Any, int | None]]) -> int:
    try:
        # Never closed, unlike in `asyncio.run`: closing waits for tasks that swallow their cancellation.
        return asyncio.Runner().run(_without_leftovers(main)) or 0
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BaseException:
        traceback.print_exc()
        return 1


async def _without_leftovers(main: Callable[[], Coroutine[Any, Any, int | None]]) -> int | None:
    try:
        return await main()
    finally:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_LEFTOVERS)
