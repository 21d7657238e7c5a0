"""A function of the tests in a process of its own, with one thread and no signals.

For what profiles or traces: in a busy process CPython 3.11 can spin for ever in a frame that is traced (it looks for
pending work before the instruction counts as done).
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


def alone(function: str, *arguments: Any) -> Any:
    """What `function`, named `package.module:name`, returns for `arguments`, which are JSON like its answer."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.alone", function],
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        cwd=_ROOT,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    json.dump(getattr(importlib.import_module(module), name)(*json.load(sys.stdin)), sys.stdout)
