"""How every program of Duetime ends: output flushed, then `os._exit`.

A Python process that has used the Temporal client can crash while the interpreter shuts down (SIGSEGV or
SIGABRT, https://github.com/temporalio/sdk-python/issues/300), which loses buffered output and replaces the
exit code. Leaving without the interpreter's shutdown avoids it. The price: `atexit` functions do not run, so
a program closes what it opened before it returns.
"""

import asyncio
import contextlib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

#: Exit code for wrong arguments or settings, as argparse and the shells have it.
EXIT_USAGE = 2
#: What a shell reports for a process that Ctrl-C ended: 128 + SIGINT.
EXIT_INTERRUPTED = 130


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


def _outcome(main: Callable[[], Coroutine[Any, Any, int | None]]) -> int:
    try:
        return asyncio.run(main()) or 0
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
