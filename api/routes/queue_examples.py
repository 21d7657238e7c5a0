"""Examples of queues, backlogs and reasons in the OpenAPI document."""

from typing import Any

_NONE = {
    "scheduled": 0,
    "waiting": 0,
    "overdue": 0,
    "limited": 0,
    "queued": 0,
    "paused": 0,
    "running": 0,
    "retrying": 0,
}
_JOBS = {**_NONE, "scheduled": 12, "queued": 3, "open": 15}

QUEUE_EXAMPLE: dict[str, Any] = {
    "name": "mail",
    "health": "no_worker",
    "verdict": "3 jobs wait, the oldest for 4 min: no worker polls queue `mail`",
    "jobs": _JOBS,
    "approximate": False,
    "oldest_ready_at": "2027-01-15T08:00:00Z",
    "oldest_age": "4m",
    "drains_in": None,
    "pace": {"arrivals": 0.7, "starts": 0.0, "completions": 0.0},
    "pause": None,
    "rate": {"per_second": 5.0, "source": "api", "reason": "the provider asked for it", "by": "api"},
    "concurrency": {
        "limit": 10,
        "reason": "the provider takes no more connections",
        "by": "api",
        "since": "2027-01-14T12:00:00Z",
    },
    "slots": 0,
    "busy": 0,
    "workers": [],
    "kinds": ["reminder.send"],
}

_WHY: dict[str, Any] = {
    "state": "queued",
    "blocked": [
        {
            "reason": "no_worker",
            "detail": "no worker polls queue `mail`",
            "since": "2027-01-15T08:00:00Z",
            "queue": "mail",
            "kind": "reminder.send",
            "announced_on": [],
            "workers": 0,
        }
    ],
    "next_change_at": None,
    "suggestions": [
        {
            "action": "start_worker",
            "detail": "start a worker on queue `mail` that has a handler for 'reminder.send'",
            "command": "python worker.py --queues mail",
        }
    ],
}

_REPORT: dict[str, Any] = {
    "findings": [
        {
            "check": "queues",
            "severity": "error",
            "says": QUEUE_EXAMPLE["verdict"],
            "fix": "start one: python worker.py --queues mail",
        },
        {"check": "server", "severity": "ok", "says": "Temporal 1.32.0 answers", "fix": None},
    ],
    "severity": "error",
    "exit_code": 2,
}

#: By the names of the schemas.
QUEUE_EXAMPLES: dict[str, list[Any]] = {
    "QueueView": [QUEUE_EXAMPLE],
    "QueueList": [
        {
            "queues": [QUEUE_EXAMPLE],
            "orchestration": {"health": "ok", "verdict": "1 worker runs the workflows", "workers": []},
            "taken_at": "2027-01-15T08:04:00Z",
        }
    ],
    "PauseRequest": [{"reason": "the provider is down"}],
    "ResumeRequest": [{}],
    "ConcurrencyRequest": [{"limit": 10, "reason": "the provider takes no more connections"}],
    "RateRequest": [{"per_second": 5, "reason": "the provider asked for it"}],
    "BacklogView": [
        {
            "by": "queue",
            "groups": [
                {
                    "name": "mail",
                    "jobs": _JOBS,
                    "oldest_ready_at": "2027-01-15T08:00:00Z",
                    "oldest_age": "4m",
                }
            ],
            "total": _JOBS,
            "approximate": False,
            "taken_at": "2027-01-15T08:04:00Z",
        }
    ],
    "WhyView": [_WHY],
    "Report": [_REPORT],
}
METRICS_EXAMPLE = 'duetime_backlog_jobs{place="queued",queue="mail"} 3.0\n'
