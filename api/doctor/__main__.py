"""`python -m api.doctor [--json]`: looks at everything and says what to do. Needs no API that runs.

Exit code 0 when all is well, 1 with warnings, 2 with errors (wrong settings among them).
"""

import argparse
import asyncio
import sys

from api.doctor.examination import examine
from duetime.connection import connect
from duetime.doctor.findings import Finding, Report, Severity
from duetime.doctor.server import unreachable
from duetime.process import run_main
from duetime.settings import Settings, settings_or_exit

_PATIENCE = 10.0
_MARKS = {Severity.OK: "ok     ", Severity.WARNING: "WARNING", Severity.ERROR: "ERROR  "}


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m api.doctor", description="Looks at everything.")
    parser.add_argument("--json", action="store_true", help="the findings as one JSON object")
    options = parser.parse_args(sys.argv[1:])
    report = await examine_at(settings_or_exit())
    print(report.model_dump_json(indent=2) if options.json else as_text(report))
    return report.exit_code


async def examine_at(settings: Settings) -> Report:
    """The examination of the server that the settings name."""
    try:
        async with asyncio.timeout(_PATIENCE):
            client = await connect(settings.temporal)
    except (RuntimeError, TimeoutError) as fault:
        why = str(fault) or f"nothing in {_PATIENCE:.0f} s"
        return Report.of([unreachable(settings.temporal_target, why)])
    return await examine(client)


def as_text(report: Report) -> str:
    """A line for each finding, the worst first, and below it what to do."""
    return "\n".join(line for finding in report.findings for line in _lines(finding))


def _lines(finding: Finding) -> list[str]:
    lines = [f"{_MARKS[finding.severity]} {finding.check}: {finding.says}"]
    return lines + ([f"        fix: {finding.fix}"] if finding.fix else [])


if __name__ == "__main__":
    run_main(main)
