"""Examples of pipelines in the OpenAPI document."""

from typing import Any

from api.pipelines.drawing import graph_of
from api.pipelines.mermaid import mermaid
from duetime.contracts.pipeline_view import PipelineSummary, PipelineView

PIPELINE_EXAMPLES: Any = {
    "nightly": {
        "summary": "Four jobs, one of them for failures alone",
        "value": {
            "id": "daily-2026-11-30",
            "jobs": {
                "extract": {"kind": "etl.extract", "payload": {"day": "2026-11-30"}},
                "transform": {
                    "kind": "etl.transform",
                    "payload": {"rows": {"$result": "extract.rows"}},
                    "needs": ["extract"],
                },
                "load": {"kind": "etl.load", "needs": ["transform"]},
                "alert": {"kind": "mail.send", "needs": ["load"], "when": "any_failed"},
            },
            "max_parallel": 10,
            "deadline": "6h",
        },
    },
    "fan out": {
        "summary": "A job for each item of a list",
        "value": {
            "jobs": {
                "files": {"kind": "etl.list"},
                "read": {
                    "kind": "etl.read",
                    "for_each": {"$result": "files.names"},
                    "payload": {"file": {"$item": ""}},
                    "needs": ["files"],
                },
            },
        },
    },
}


def _job(name: str, kind: str, state: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"daily-2026-11-30~{name}",
        "kind": kind,
        "queue": "default",
        "state": state,
        "needs": [],
        "when": "all_succeeded",
        "items": None,
        "reason": None,
        "waits_for": [],
        "started_at": None,
        "finished_at": None,
        "attempt": None,
        "error": None,
        **more,
    }


PIPELINE_EXAMPLE: dict[str, Any] = {
    "id": "daily-2026-11-30",
    "run_id": "019a1b2c-3d4e-7f50-8a61-b2c3d4e5f607",
    "state": "running",
    "created_at": "2026-11-30T02:00:00Z",
    "finished_at": None,
    "deadline_at": "2026-11-30T08:00:00Z",
    "counts": {"succeeded": 1, "running": 1, "waiting": 2},
    "jobs": {
        "extract": _job(
            "extract",
            "etl.extract",
            "succeeded",
            started_at="2026-11-30T02:00:01Z",
            finished_at="2026-11-30T02:04:00Z",
            attempt=1,
        ),
        "transform": _job(
            "transform",
            "etl.transform",
            "running",
            needs=["extract"],
            started_at="2026-11-30T02:04:01Z",
            attempt=1,
        ),
        "load": _job(
            "load", "etl.load", "waiting", needs=["transform"], reason="needs", waits_for=["transform"]
        ),
        "alert": _job(
            "alert",
            "mail.send",
            "waiting",
            needs=["load"],
            when="any_failed",
            reason="needs",
            waits_for=["load"],
        ),
    },
    "max_parallel": 10,
    "on_failure": "continue",
    "halt": None,
    "critical_path": {
        "jobs": [
            {"name": "extract", "waited": "1s", "ran": "3m59s"},
            {"name": "transform", "waited": "1s", "ran": "1m0s"},
        ],
        "took": "5m1s",
        "final": False,
    },
    "error": None,
    "schedule_id": None,
    "nominal_time": None,
    "warnings": [],
    "links": {
        "self": "/v1/pipelines/daily-2026-11-30",
        "graph": "/v1/pipelines/daily-2026-11-30/graph",
        "temporal": "http://localhost:8233/namespaces/default/workflows/daily-2026-11-30",
    },
}

PIPELINE_PAGE_EXAMPLE: dict[str, Any] = {
    "pipelines": [{name: PIPELINE_EXAMPLE[name] for name in PipelineSummary.model_fields}],
    "next_cursor": None,
}

PIPELINE_EVENTS_EXAMPLE = (
    "retry: 2000\n\n"
    'id: 5f1c0d2a9b3e37517e5f3dc6\nevent: state\ndata: {"id":"daily-2026-11-30","state":"running",'
    '"jobs":{"extract":"succeeded","transform":"running", …}, …}\n\n'
    'id: 91be6a54d0c80b1f4c77aa10\nevent: done\ndata: {"id":"daily-2026-11-30","state":"succeeded", …}\n\n'
)
GRAPH_EXAMPLE = mermaid(graph_of(PipelineView.model_validate(PIPELINE_EXAMPLE)))
PICTURE_EXAMPLE = '<svg xmlns="http://www.w3.org/2000/svg" role="img" …>…</svg>'

#: Examples of the schemas in the OpenAPI document, by their names there.
PIPELINE_SCHEMA_EXAMPLES: dict[str, list[Any]] = {
    "PipelineSubmission": [example["value"] for example in PIPELINE_EXAMPLES.values()],
    "PipelineView": [PIPELINE_EXAMPLE],
    "PipelinePage": [PIPELINE_PAGE_EXAMPLE],
    "PipelineRedriveRequest": [{"run_id": "019a1b2c-3d4e-7f50-8a61-b2c3d4e5f607"}],
}
