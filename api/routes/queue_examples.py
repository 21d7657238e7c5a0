"""Examples on queues in the OpenAPI document."""

from typing import Any

PAUSE_EXAMPLES: Any = {
    "with who": {"value": {"reason": "the mail server moves", "by": "alice"}},
    "short": {"value": {"reason": "deploy"}},
}
RATE_EXAMPLES: Any = {
    "limit": {"value": {"per_second": 5, "reason": "the partner asks for it", "by": "bob"}},
}

_BACKLOG: dict[str, Any] = {
    "scheduled": 40,
    "waiting": 0,
    "overdue": 0,
    "queued": 12,
    "paused": 0,
    "running": 0,
    "retrying": 2,
    "open": 54,
}
_WORKER: dict[str, Any] = {
    "identity": "41@worker-1",
    "host": "worker-1",
    "started_at": "2027-01-15T06:00:00Z",
    "seen_at": "2027-01-15T09:04:59Z",
    "told_by": "heartbeat",
    "slots": 20,
    "busy": 3,
}
_QUEUE: dict[str, Any] = {
    "name": "emails",
    "health": "no_worker",
    "verdict": "12 jobs wait, the oldest for 5 min: no worker polls queue `emails`",
    "jobs": _BACKLOG,
    "approximate": False,
    "oldest_ready_at": "2027-01-15T09:00:00Z",
    "oldest_age": "5m",
    "drains_in": None,
    "pace": {"arrivals": 0.4, "starts": 0.0, "completions": 0.0},
    "pause": None,
    "rate": None,
    "slots": 0,
    "busy": 0,
    "workers": [],
    "kinds": ["mail.send"],
}

#: By the names of the schemas.
QUEUE_EXAMPLES: dict[str, list[Any]] = {
    "QueueView": [_QUEUE],
    "QueueList": [
        {
            "queues": [_QUEUE],
            "orchestration": {
                "health": "ok",
                "verdict": "1 worker runs the workflows",
                "workers": [_WORKER],
            },
            "taken_at": "2027-01-15T09:05:00Z",
        }
    ],
    "BacklogView": [
        {
            "by": "queue",
            "groups": [
                {
                    "name": "emails",
                    "jobs": _BACKLOG,
                    "oldest_ready_at": "2027-01-15T09:00:00Z",
                    "oldest_age": "5m",
                }
            ],
            "total": _BACKLOG,
            "approximate": False,
            "taken_at": "2027-01-15T09:05:00Z",
        }
    ],
    "ResumeRequest": [{"by": "alice"}],
    "WhyView": [
        {
            "state": "queued",
            "blocked": [
                {
                    "reason": "queue_paused",
                    "detail": "queue `emails` is paused: the mail server moves",
                    "since": "2027-01-15T09:00:00Z",
                    "queue": "emails",
                    "said": "the mail server moves",
                    "by": "alice",
                }
            ],
            "next_change_at": None,
            "suggestions": [
                {
                    "action": "resume_queue",
                    "detail": "resume queue `emails`",
                    "method": "POST",
                    "path": "/v1/queues/emails:resume",
                }
            ],
        }
    ],
    "Report": [
        {
            "findings": [
                {
                    "check": "queues",
                    "severity": "error",
                    "says": "12 jobs wait, the oldest for 5 min: no worker polls queue `emails`",
                    "fix": "start one (python worker.py --queues emails), or correct the name where the jobs are "
                    "submitted",
                },
                {"check": "server", "severity": "ok", "says": "Temporal 1.32.0 answers", "fix": None},
            ],
            "severity": "error",
            "exit_code": 2,
        }
    ],
}
