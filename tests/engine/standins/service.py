"""`make run` with stand-ins: `python service.py [worker-crash|worker-stuck|api-crash]`."""

import sys
from pathlib import Path

import dev
from duetime.process import run_main
from duetime.settings import settings_or_exit

HERE = Path(__file__).parent


def _command(name: str) -> list[str]:
    faults = [fault.removeprefix(f"{name}-") for fault in sys.argv[1:] if fault.startswith(f"{name}-")]
    return [sys.executable, str(HERE / f"{name}.py"), *faults]


if __name__ == "__main__":
    settings = settings_or_exit()
    run_main(lambda: dev.run(settings, worker=_command("worker"), api=_command("api")))
