"""Examples of operations on many jobs in the OpenAPI document."""

from typing import Any

_REF = {
    "id": "report-4711",
    "run_id": "0192f0c1-7c2f-7a10-9b3e-5f1c0d2a9b3e",
    "kind": "report.build",
    "queue": "reports",
}

OPERATION_EXAMPLE: dict[str, Any] = {
    "id": "duetime~bulk~01kx2m4q8r0000000000000000",
    "action": "retry",
    "state": "frozen",
    "filter": {"state": ["failed"], "kind": "report.build"},
    "dry_run": True,
    "by": "anybody",
    "rate": 50.0,
    "canary": None,
    "created_at": "2027-01-15T08:00:00Z",
    "finished_at": None,
    "kept_until": "2027-01-16T08:00:00Z",
    "total": 60,
    "counts": {"done": 0, "skipped": 0, "failed": 0, "left": 60},
    "skipped_because": {},
    "errors": [
        {"type": "ConnectionError", "count": 58, "example": "report-4711", "message": "the database hung up"},
        {"type": "Rejected", "count": 2, "example": "report-4698", "message": "no such region"},
    ],
    "errors_of": 60,
    "sample": [_REF],
    "faults": [],
    "lost": [],
    "reason": None,
    "remaining": "1s200ms",
    "links": {
        "self": "/v1/operations/duetime~bulk~01kx2m4q8r0000000000000000",
        "temporal": "http://localhost:8233/namespaces/default/workflows/duetime~bulk~01kx2m4q8r0000000000000000",
    },
}

BULK_EXAMPLES: dict[str, list[Any]] = {
    "OperationView": [OPERATION_EXAMPLE],
    "OperationList": [{"operations": [OPERATION_EXAMPLE], "next_cursor": None}],
    "RunRequest": [{}, {"rate": 10, "canary": 3}],
    "StopOperationRequest": [{}, {"reason": "the database is down again"}],
}
