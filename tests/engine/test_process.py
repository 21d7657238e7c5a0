from pathlib import Path

import pytest

from tests.engine.programs import environment, finish, start_python


@pytest.mark.parametrize(
    ("body", "code", "output"),
    [
        ("return None", 0, "said\n"),
        ("return 7", 7, "said\n"),
        ("raise SystemExit", 0, "said\n"),
        ("raise SystemExit(3)", 3, "said\n"),
        ("sys.exit('no such job')", 1, "no such job\n"),
        ("raise ValueError('broken')", 1, "ValueError: broken\n"),
        ("os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(60)", 130, "said\n"),
    ],
)
async def test_the_exit_code_and_all_output_come_through(
    body: str, code: int, output: str, tmp_path: Path
) -> None:
    """`print` to a pipe is buffered: without the flush it would be lost."""
    program = f"""
import asyncio, os, signal, sys
from duetime.process import run_main
async def main():
    print("said")
    {body}
run_main(main)
"""
    ended, written = await finish(await start_python("-c", program, cwd=tmp_path, env=environment()))
    assert ended == code
    assert "said\n" in written
    assert output in written


async def test_nothing_runs_after_the_end(tmp_path: Path) -> None:
    """No interpreter shutdown, which is what crashes: a thread that would keep it waiting does not."""
    program = """
import threading
from duetime.process import exit_process
threading.Thread(target=threading.Event().wait).start()
exit_process(5)
"""
    assert await finish(await start_python("-c", program, cwd=tmp_path, env=environment())) == (5, "")
