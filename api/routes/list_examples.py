"""Examples of lists, counts, batches and events in the OpenAPI document."""

from typing import Any

from api.routes.examples import JOB_EXAMPLE, SUBMISSION_EXAMPLES
from duetime.contracts.states import State
from duetime.contracts.view import JobSummary

SUMMARY_EXAMPLE: dict[str, Any] = {
    name: value for name, value in JOB_EXAMPLE.items() if name in JobSummary.model_fields
}
PAGE_EXAMPLE: dict[str, Any] = {
    "jobs": [SUMMARY_EXAMPLE],
    "next_cursor": "AQEABlJrI0mQAAAGUmsjSZAAAQAGUmsjSZAAAZobLD1OaFCKYbLD1OX2B4lT1K5x",
}
COUNTS_EXAMPLE: dict[str, Any] = {
    "total": 97,
    "states": {**dict.fromkeys(map(str, State), 0), "scheduled": 12, "queued": 3, "succeeded": 82},
    "approximate": False,
}

_NO_OFFSET = (
    'has no offset: write RFC 3339 with an offset, as "2027-01-15T09:00:00+01:00", or name a "timezone"'
)
BATCH_EXAMPLES: Any = {
    "batch": {
        "summary": "Two jobs, the second with a time that has no offset",
        "value": {
            "jobs": [
                SUBMISSION_EXAMPLES["later"]["value"],
                {"kind": "hello", "run_at": "2027-01-15T09:00:00"},
            ]
        },
    }
}
BATCH_ANSWER_EXAMPLE: dict[str, Any] = {
    "jobs": [
        {"status": 201, "job": JOB_EXAMPLE},
        {
            "status": 422,
            "problem": {
                "type": "urn:duetime:problem:invalid",
                "title": "Invalid field",
                "status": 422,
                "detail": f"/jobs/1/run_at: {_NO_OFFSET}",
                "errors": [{"pointer": "/jobs/1/run_at", "message": _NO_OFFSET}],
            },
        },
    ]
}

EVENTS_EXAMPLE = (
    "retry: 2000\n\n"
    'id: 5f1c0d2a9b3e.37517e5f3dc6\nevent: state\ndata: {"id":"reminder-4711","state":"running", …}\n\n'
    "id: 5f1c0d2a9b3e.0b1f4c77aa10\nevent: progress\n"
    'data: {"id":"reminder-4711","state":"running","progress":{"done":3,"total":10, …}, …}\n\n'
    "id: 91be6a54d0c8.0b1f4c77aa10\nevent: done\n"
    'data: {"id":"reminder-4711","state":"succeeded","result":{"sent":true}, …}\n\n'
)
