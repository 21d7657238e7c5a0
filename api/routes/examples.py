"""Examples in the OpenAPI document."""

from typing import Any

SUBMISSION_EXAMPLES: Any = {
    "now": {"summary": "Now", "value": {"kind": "hello", "payload": {"name": "world"}}},
    "later": {
        "summary": "At a time, retried, on its own queue",
        "value": {
            "kind": "reminder.send",
            "payload": {"to": "a@example.org", "text": "Dentist at ten"},
            "id": "reminder-4711",
            "queue": "default",
            "run_at": "2027-01-15T09:00:00+01:00",
            "retry": {"max_attempts": 5, "initial_interval": "1s", "backoff": 2.0, "max_interval": "5m"},
            "timeout": "10m",
            "lease": "30s",
            "deadline": "24h",
            "tags": ["clinic", "sms"],
        },
    },
    "limited": {
        "summary": "At most three of one tenant at once",
        "value": {"kind": "hello", "concurrency": {"key": "tenant-42", "limit": 3}},
    },
    "delayed": {"summary": "In a quarter of an hour", "value": {"kind": "hello", "delay": "15m"}},
}

JOB_EXAMPLE: dict[str, Any] = {
    "id": "reminder-4711",
    "run_id": "019a1b2c-3d4e-7f50-8a61-b2c3d4e5f607",
    "kind": "reminder.send",
    "queue": "default",
    "state": "scheduled",
    "payload": {"to": "a@example.org", "text": "Dentist at ten"},
    "tags": ["clinic", "sms"],
    "priority": 3,
    "created_at": "2027-01-14T12:00:00Z",
    "due_at": "2027-01-15T08:00:00Z",
    "started_at": None,
    "finished_at": None,
    "late_by": None,
    "attempt": 0,
    "max_attempts": 5,
    "next_attempt_at": None,
    "lease": None,
    "attempts": [],
    "progress": None,
    "checkpoint": None,
    "result": None,
    "error": None,
    "schedule_id": None,
    "pipeline_id": None,
    "nominal_time": None,
    "warnings": [],
    "links": {
        "self": "/v1/jobs/reminder-4711",
        "temporal": "http://localhost:8233/namespaces/default/workflows/reminder-4711",
    },
}

KIND_EXAMPLE: dict[str, Any] = {
    "kind": "reminder.send",
    "description": "Sends a reminder.",
    "queues": [
        {
            "queue": "default",
            "payload_schema": {
                "type": "object",
                "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
                "required": ["to", "text"],
            },
            "defaults": {"lease": "30s", "timeout": "5m"},
        }
    ],
}

#: Examples of the schemas in the OpenAPI document, by their names there.
EXAMPLES: dict[str, list[Any]] = {
    "Submission": [example["value"] for example in SUBMISSION_EXAMPLES.values()],
    "JobView": [JOB_EXAMPLE],
    "Patch": [{"run_at": "2027-01-15T10:00:00+01:00"}, {"delay": "15m", "priority": 1}],
    "CancelRequest": [{"reason": "the appointment is off"}, {"mode": "graceful", "grace": "30s"}],
    "KindView": [KIND_EXAMPLE],
    "KindList": [{"kinds": [KIND_EXAMPLE]}],
    "Health": [{"status": "ready"}],
    "RedriveRequest": [{"from": "checkpoint"}, {"force": True}],
}
