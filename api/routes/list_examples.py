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

BATCH_EXAMPLES: Any = {
    "batch": {
        "summary": "Two jobs, the second with a typing error",
        "value": {
            "jobs": [
                SUBMISSION_EXAMPLES["later"]["value"],
                {"kind": "hello", "queu": "default"},
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
                "detail": "/jobs/1/queu: unknown field; did you mean `queue`?",
                "errors": [{"pointer": "/jobs/1/queu", "message": "unknown field; did you mean `queue`?"}],
            },
        },
    ]
}
