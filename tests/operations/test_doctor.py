"""The doctor: what it finds is there, what it does not find is not, and scripts can tell."""

import json
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.client import Client

from api.doctor.__main__ import as_text, examine_at
from api.doctor.endings import Endings, examine_endings
from api.doctor.queues import examine_queues
from api.queues.board import Sight
from api.queues.census import Census, Part, Resident
from api.queues.views import queue_list
from duetime.cron import ZONES_VERSION
from duetime.doctor import clock, server, zones
from duetime.doctor.findings import Finding, Report, Severity, error, ok, warning
from duetime.engine import EmbeddedEngine
from duetime.engine.namespace import WANTED
from duetime.engine.ports import free_port
from duetime.handlers import handler
from duetime.jobs.facts import Facts
from duetime.settings import Settings
from tests.engine.programs import ROOT, environment, finish, start_python
from tests.operations.bench import Bench, hold, until
from workflows.worker import orchestrator

DOCUMENT = (ROOT / "docs/doctor.md").read_text()
KEYWORD, INT = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD, IndexedValueType.INDEXED_VALUE_TYPE_INT


def said(report: Any, check: str, severity: str) -> str:
    """What the findings of one check with this severity say, in one text."""
    return " | ".join(
        one["says"] for one in report["findings"] if (one["check"], one["severity"]) == (check, severity)
    )


async def test_what_is_well_is_said_to_be(bench: Bench) -> None:
    report = await bench.get("/v1/doctor")
    for check in (
        "server",
        "retention",
        "signs-of-life",
        "search-attributes",
        "clock",
        "workflows",
        "histories",
        "schedules",
    ):
        assert said(report, check, "ok"), report
    assert "Temporal 1." in said(report, "server", "ok")
    assert "7d" in said(report, "retention", "ok")


async def test_a_queue_without_workers_is_an_error_that_names_it(bench: Bench) -> None:
    await bench.submit()
    await bench.backlog(queued=1)
    report = await bench.get("/v1/doctor")
    assert f"no worker polls queue `{bench.queue}`" in said(report, "queues", "error")
    assert report["exit_code"] == 2 and report["severity"] == report["findings"][0]["severity"] == "error"
    (finding,) = [one for one in report["findings"] if bench.queue in one["says"]]
    assert f"python worker.py --queues {bench.queue}" in finding["fix"]
    async with bench.worker():
        await bench.in_state(bench.made[0], "succeeded")
        assert bench.queue not in said(await bench.get("/v1/doctor"), "queues", "error")


async def test_a_queue_that_will_need_a_worker_and_a_paused_one_are_warnings(bench: Bench) -> None:
    paused = f"{bench.queue}-paused"
    await bench.post(f"/v1/queues/{paused}:pause", {"reason": "we move"})
    await bench.submit(delay="1h")
    await bench.submit(queue=paused)

    async def warned() -> str:
        return said(await bench.get("/v1/doctor"), "queues", "warning")

    told = await until(warned, lambda told: f"`{paused}` is paused" in told)
    early = f"{bench.queue}-early"
    await bench.post(f"/v1/queues/{early}:pause", {"reason": "we move"})
    await bench.submit(queue=early, delay="1h")
    told = await until(warned, lambda told: f"`{early}`" in told)
    assert f"1 job is to run on queue `{early}`; nothing waits; the queue is paused" in told
    assert f"1 job is to run on queue `{bench.queue}` later" in told


async def test_a_kind_that_mostly_fails(bench: Bench) -> None:
    """Nothing waits, and every queue is well."""
    kind = f"broken-{bench.queue}"

    @handler(kind)
    async def broken(payload: dict[str, Any]) -> None:
        if not payload:
            raise RuntimeError("no such table")

    async def warned() -> str:
        return said(await bench.get("/v1/doctor"), "endings", "warning")

    async with bench.worker(broken):
        made = [await bench.submit(kind=kind, payload={"good": True})]
        made += [await bench.submit(kind=kind, retry={"max_attempts": 1}) for _ in range(5)]
        for job_id in made:
            await bench.in_state(job_id, "succeeded", "failed")
    assert f"5 of the 6 jobs of kind '{kind}'" in await until(warned, lambda told: kind in told)
    counted = await bench.get(f"/v1/jobs:count?by=error&kind={kind}")  # as the fix says
    assert [(one["type"], one["count"]) for one in counted["errors"]] == [("RuntimeError", 5)]


@pytest.mark.parametrize(
    ("bad", "good", "warns"), [(5, 4, True), (5, 5, False), (4, 0, False), (900, 899, True), (0, 9, False)]
)
def test_a_kind_fails_when_it_does_so_more_often_than_not(bad: int, good: int, warns: bool) -> None:
    (finding,) = examine_endings(Endings(bad, good), {"mail.send": Endings(bad, good)} if bad else {})
    assert finding.severity is (Severity.WARNING if warns else Severity.OK)
    assert f"{bad:,} of the {bad + good:,} jobs" in finding.says
    assert ("--kind mail.send" in (finding.fix or "")) is warns


async def test_a_kind_that_no_worker_of_the_queue_has_a_handler_for(bench: Bench) -> None:
    await bench.submit(kind="nobody-has-this")
    async with bench.worker(hold):

        async def warned() -> str:
            return said(await bench.get("/v1/doctor"), "kinds", "warning")

        told = await until(warned, lambda told: bench.queue in told)
    assert "'nobody-has-this'" in told and "no worker ever announced it" in told


async def test_jobs_that_nobody_brings_to_their_queues(alone: Bench) -> None:
    report = await alone.get("/v1/doctor")
    assert "no worker runs the workflows" in said(report, "workflows", "warning")
    await alone.submit()
    report = await alone.get("/v1/doctor")
    assert "no worker runs the workflows" in said(report, "workflows", "error")
    assert not said(report, "jobs", "error")  # due a moment ago
    report = await until(
        lambda: alone.get("/v1/doctor"), lambda report: said(report, "jobs", "error") and report
    )
    assert "1 job is due" in said(report, "jobs", "error")
    assert f"no worker polls queue `{alone.queue}`" in said(report, "queues", "error")
    verdict = (await alone.view())["verdict"]
    assert "no worker runs the workflows" in verdict and verdict.endswith("which no worker polls either")
    async with orchestrator(alone.client):
        await alone.backlog(queued=1)
        assert not said(await alone.get("/v1/doctor"), "jobs", "error")


async def test_the_program_ends_with_the_worst(bare: EmbeddedEngine, alone: Bench, tmp_path: Path) -> None:
    """A server where nothing runs: warnings, in words and in JSON; then none at all."""
    env = environment(DUETIME_TEMPORAL_ADDRESS=bare.address)
    process = await start_python("-m", "api.doctor", "--json", cwd=tmp_path, env=env)
    code, output = await finish(process)
    report = json.loads(output)
    assert (code, report["severity"]) == (1, "warning"), output
    assert "no worker runs the workflows" in said(report, "workflows", "warning")


async def test_a_server_that_is_not_there() -> None:
    address = f"127.0.0.1:{free_port()}"
    report = await examine_at(Settings.model_construct(temporal_address=address))
    (finding,) = report.findings
    assert finding.check == "server" and address in finding.says
    assert finding.fix and "DUETIME_TEMPORAL_ADDRESS" in finding.fix
    assert report.exit_code == 2 and as_text(report).startswith("ERROR   server: ")


async def test_a_namespace_that_is_not_there(client: Client) -> None:
    config = client.config()
    elsewhere = Client(config["service_client"], namespace="nowhere")
    found = {finding.check: finding for finding in await server.examine_server(elsewhere)}
    assert found["namespace"].severity is Severity.ERROR and found["namespace"].fix
    assert "temporal operator namespace create --namespace nowhere" in found["namespace"].fix


def test_findings_come_with_the_worst_first_and_decide_the_exit_code() -> None:
    findings = [ok("a", "fine"), error("b", "bad", "mend it"), warning("c", "hm", "look"), ok("d", "fine")]
    report = Report.of(findings)
    assert [finding.check for finding in report.findings] == ["b", "c", "a", "d"]
    assert [Report.of(part).exit_code for part in ([], findings[:1], findings[2:], findings)] == [0, 0, 1, 2]
    assert "        fix: mend it" in as_text(report).splitlines()[1]


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [(0.4, "ok"), (-1.9, "ok"), (2.5, "warning"), (-10, "warning"), (45, "error"), (-3600, "error")],
)
def test_a_difference_of_clocks(seconds: float, severity: str) -> None:
    finding = clock.difference(timedelta(seconds=seconds))
    assert finding.severity == severity
    assert ("behind" if seconds > 0 else "ahead of") in finding.says


@pytest.mark.parametrize(
    ("known", "severity"), [("2027a", "ok"), ("2026b", "ok"), ("2025c", "warning"), ("?", "warning")]
)
def test_an_old_time_zone_database(known: str, severity: str) -> None:
    assert zones.verdict(known, date(2027, 6, 1)).severity == severity


def test_the_database_in_use_is_the_one_that_is_told() -> None:
    (finding,) = zones.examine_zones(datetime.now(UTC).date())
    assert finding.severity == "ok" and finding.says.endswith(ZONES_VERSION)


@pytest.mark.parametrize(
    ("told", "severity"),
    [("1.32.0", "ok"), ("1.29.1", "ok"), ("1.28.9", "warning"), ("2.0", "ok"), ("", "ok"), ("next", "ok")],
)
def test_an_old_server(told: str, severity: str) -> None:
    assert server.version(told).severity == severity


def test_a_short_retention() -> None:
    assert server.retention(timedelta(days=7)).severity == "ok"
    assert server.retention(timedelta(days=1)).severity == "warning"


def test_search_attributes_missing_wrong_or_without_room() -> None:
    def worst(existing: dict[str, int]) -> Finding:
        return Report.of(server.attributes(existing, "default")).findings[0]

    assert worst(WANTED).severity is Severity.OK
    name = next(iter(WANTED))
    lacking = worst({key: kind for key, kind in WANTED.items() if key != name})
    assert lacking.severity is Severity.ERROR and name in lacking.says
    assert worst(WANTED | {name: INT}).severity is Severity.ERROR
    room = 10 - sum(kind == KEYWORD for kind in WANTED.values())
    full = worst(WANTED | {f"Other{n}": KEYWORD for n in range(room)})
    assert full.severity is Severity.WARNING and "Keyword" in full.says


def test_a_history_that_grows_too_long() -> None:
    now = datetime.now(UTC)
    from temporalio.client import WorkflowExecutionStatus

    def resident(job_id: str, events: int) -> Resident:
        facts = Facts(job_id, "run", WorkflowExecutionStatus.RUNNING, now, now, None, events=events)
        return Resident("mail", "send", None, facts)

    due = Part((resident("short", 7_000), resident("long", 9_000), resident("huge", 45_000)), 3)
    sight = Sight(Census(now, (due,)), {}, {}, {}, {})
    found = [finding for finding in examine_queues(sight, queue_list(sight)) if finding.check == "histories"]
    assert [(finding.severity.value, finding.says.split("'")[1]) for finding in found] == [
        ("error", "huge"),
        ("warning", "long"),
    ]


def test_every_check_is_documented() -> None:
    checks = {
        *("time-zones", "server", "namespace", "retention", "signs-of-life", "search-attributes"),
        *("search-attribute-room", "clock", "workflows", "queues", "kinds", "jobs", "endings", "histories"),
        "schedules",
    }
    sources = [ROOT / "duetime/doctor", ROOT / "api/doctor"]
    text = "".join(path.read_text() for folder in sources for path in folder.glob("*.py"))
    assert all(f'"{check}"' in text and f"| `{check}` |" in DOCUMENT for check in checks), sys.version
