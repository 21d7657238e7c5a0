"""Names of metrics: what exists is documented, and what dashboards and alerts ask for exists."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from temporalio.client import Client

from api.observe import counters, gauges, schedules
from api.queues.buckets import Bucket
from duetime.connection import connect
from duetime.contracts.queues import Health
from duetime.contracts.states import AttemptOutcome, State
from duetime.observe import names
from duetime.runtime.counters import Counters
from tests.listing.conftest import calling, make_app
from tests.operations.bench import Bench
from tests.operations.scraping import Samples, read

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/metrics.md").read_text()
RULES = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((ROOT / "deploy/grafana/duetime.json").read_text())


def documented() -> dict[str, list[tuple[str, set[str]]]]:
    """Type and labels by name, as often as the document has the metric."""
    found: dict[str, list[tuple[str, set[str]]]] = {}
    row = re.compile(r"^\| `(duetime_\w+)` \| (\w+) \| (.*?) \|", re.MULTILINE)
    for name, kind, labels in row.findall(DOCUMENT):
        found.setdefault(name, []).append((kind, set(re.findall(r"`(\w+)`", labels))))
    return found


def existing() -> dict[str, list[tuple[str, set[str]]]]:
    """The same of the code: gauges, counters of the API, then those of workers."""
    found: dict[str, list[tuple[str, set[str]]]] = {}
    for gauge in [*gauges.ALL, *schedules.GAUGES]:
        found.setdefault(gauge.name, []).append(("gauge", set(gauge.labels)))
    for count in schedules.COUNTS:
        found.setdefault(count.name, []).append(("counter", set(count.labels)))
    for metric in vars(counters).values():
        if hasattr(metric, "_labelnames"):
            name = metric._name + ("_total" if metric._type == "counter" else "")
            found.setdefault(name, []).append((metric._type, set(metric._labelnames)))
    for told in names.ALL:
        found.setdefault(told.shown, []).append((told.type, set(told.labels)))
    return found


def sorted_out(told: dict[str, list[tuple[str, set[str]]]]) -> dict[str, list[Any]]:
    return {name: sorted((kind, sorted(labels)) for kind, labels in rows) for name, rows in told.items()}


def test_the_document_lists_what_exists_and_nothing_else() -> None:
    assert sorted_out(documented()) == sorted_out(existing())


def test_every_incident_is_explained() -> None:
    table = DOCUMENT[DOCUMENT.index("| `incident` | means |") :].split("\n\n")[0]
    explained = {
        name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert explained == set(Counters.names())


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    variables = [one["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]
    return [*panels, *variables, *(rule["expr"] for rule in RULES)]


@pytest.mark.parametrize("expression", expressions())
def test_dashboard_and_alerts_ask_only_for_what_exists(expression: str) -> None:
    known = existing()
    asked = re.findall(r"\b((?:duetime|temporal)_\w+)(?:\{([^}]*)\})?", expression)
    assert asked
    for name, selector in asked:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        if name.startswith("temporal_"):
            assert f"`{base}`" in DOCUMENT, f"{base} is not among the SDK's metrics in docs/metrics.md"
            continue
        assert base in known, f"{name} does not exist"
        is_histogram = any(kind == "histogram" for kind, _ in known[base])
        assert is_histogram == (name != base), f"{name}: a histogram is asked for its buckets"
        labels = set().union(*(labels for _, labels in known[base]))
        assert set(re.findall(r"(\w+)[!=]~?=?\"", selector)) <= labels
    grouped = {
        label for by in re.findall(r"(?:by|without) \(([^)]*)\)", expression) for label in by.split(", ")
    }
    every = set().union(*(labels for rows in known.values() for _, labels in rows))
    assert grouped <= every | {"le", "instance", "worker_type"}
    assert expression.count("(") == expression.count(")")


def test_values_in_queries_are_values_that_exist() -> None:
    allowed: dict[str, set[str]] = {
        "place": {bucket.value for bucket in Bucket},
        "health": {health.value for health in Health},
        "outcome": {outcome.value for outcome in AttemptOutcome} | {state.value for state in State},
    }
    for expression in expressions():
        for label, value in re.findall(r"(\w+)!?=\"([^\"]*)\"", expression):
            assert value in allowed[label], expression


def test_every_alert_says_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["alert"].startswith("Duetime")
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]
        used = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        kept = {label for by in re.findall(r"by \(([^)]*)\)", rule["expr"]) for label in by.split(", ")}
        assert used <= kept, f"{rule['alert']}: its text names labels that the expression drops"


async def test_the_api_shows_how_queues_stand(bench: Bench) -> None:
    await bench.submit()
    await bench.submit(delay="1h")
    await bench.backlog(queued=1, scheduled=1)

    async with calling(make_app(bench.client)) as http:  # its own look, not one of some seconds ago
        answer = await http.get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    seen = read(answer.text)
    assert seen["duetime_backlog_jobs", ("queued", bench.queue)] == 1
    assert seen["duetime_backlog_jobs", ("scheduled", bench.queue)] == 1
    assert seen["duetime_queue_workers", (bench.queue,)] == 0
    assert seen["duetime_queue_health", ("no_worker", bench.queue)] == 1
    assert seen["duetime_queue_health", ("ok", bench.queue)] == 0
    assert 0 < seen["duetime_backlog_oldest_age_seconds", (bench.queue,)] < 120
    assert seen["duetime_temporal_up", ()] == 1 and seen["duetime_orchestrators", ()] == 1
    assert seen["duetime_jobs_submitted_total", ("quick", bench.queue)] == 2
    shown = {name for name, _ in seen}
    assert {schedules.SCHEDULES.name, schedules.LEFT_OUT.name} <= shown
    assert {gauge.name for gauge in gauges.ALL} - shown <= {
        "duetime_queue_rate_limit",
        "duetime_queue_slots",
        "duetime_queue_slots_busy",
    }


async def test_what_the_api_ends_it_counts(bench: Bench) -> None:
    job_id = await bench.submit(delay="1h")
    await bench.post(f"/v1/jobs/{job_id}:cancel")
    seen = read((await bench.http.get("/metrics")).text)
    assert seen["duetime_jobs_finished_total", ("quick", "cancelled", bench.queue)] == 1


async def test_routes_are_counted_by_pattern(http: httpx2.AsyncClient) -> None:
    def count(seen: Samples, route: str, status: str) -> float:
        return seen.get(("duetime_http_requests_total", ("GET", route, status)), 0)

    before = read((await http.get("/metrics")).text)
    await http.get("/v1/jobs/nobody-knows-this-one")
    await http.get("/nowhere/at/all")
    after = read((await http.get("/metrics")).text)
    for route in ("/v1/jobs/{job_id}", "none"):
        assert count(after, route, "404") == count(before, route, "404") + 1
    assert not any("nobody-knows" in value for _, labels in after for value in labels)


async def test_openmetrics_is_spoken_too(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


async def test_without_temporal_metrics_are_still_answered() -> None:
    nowhere: Client = await connect("127.0.0.1:1", lazy=True)
    async with calling(make_app(nowhere)) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    seen = read(answer.text)
    assert seen["duetime_temporal_up", ()] == 0
    assert not any(name.startswith(("duetime_backlog", "duetime_schedule")) for name, _ in seen)
