"""Examples of schedules in the OpenAPI document."""

from typing import Any

PREVIEW_EXAMPLES: Any = {
    "weekdays": {
        "summary": "A fixed time on weekdays, through the night the clocks change",
        "value": {
            "cron": "30 1 * * *",
            "timezone": "America/New_York",
            "exclude": ["2027-11-08"],
            "from": "2027-11-06T00:00:00-04:00",
            "n": 3,
        },
    },
    "spread": {
        "summary": "A minute chosen by the id",
        "value": {"id": "nightly-report", "cron": "H 2 * * *"},
    },
    "every": {"summary": "Every 90 minutes", "value": {"every": "90m", "offset": "5m", "n": 100}},
}

SPEC_EXAMPLES: Any = {
    "nightly": {
        "summary": "A report on weekday nights, New York time",
        "value": {
            "cron": "0 2 * * MON-FRI",
            "timezone": "America/New_York",
            "exclude": ["2027-12-24"],
            "catch_up": {"window": "6h", "policy": "latest"},
            "note": "for the morning meeting",
            "job": {"kind": "report.build", "payload": {"region": "eu"}, "queue": "reports"},
        },
    },
    "pipeline": {
        "summary": "A pipeline each night; its jobs read the night's time as `nominal_time`",
        "value": {
            "cron": "0 2 * * *",
            "timezone": "Europe/Paris",
            "catch_up": {"window": "12h", "policy": "all"},
            "pipeline": {
                "jobs": {
                    "extract": {"kind": "etl.extract"},
                    "load": {
                        "kind": "etl.load",
                        "payload": {"rows": {"$result": "extract.rows"}},
                        "needs": ["extract"],
                    },
                    "alert": {"kind": "mail.send", "needs": ["load"], "when": "any_failed"},
                },
                "deadline": "1h",
            },
        },
    },
    "often": {
        "summary": "Every quarter of an hour, each instance of it at another minute",
        "value": {"cron": "H/15 * * * *", "overlap": "queue_one", "job": {"kind": "mail.fetch"}},
    },
}

APPLY_EXAMPLES: Any = {
    "diff": {
        "summary": "What would be done",
        "value": {
            "schedules": [{"id": "nightly-report", "cron": "H 2 * * *", "job": {"kind": "report.build"}}],
            "prune": True,
            "dry_run": True,
        },
    }
}

_FIRES = [
    {"utc": "2027-11-06T05:30:00Z", "local": "2027-11-06T01:30:00-04:00", "tags": []},
    {"utc": "2027-11-07T05:30:00Z", "local": "2027-11-07T01:30:00-04:00", "tags": ["dst_repeat"]},
    {"utc": "2027-11-08T06:30:00Z", "local": "2027-11-08T01:30:00-05:00", "tags": ["excluded"]},
    {"utc": "2027-11-09T06:30:00Z", "local": "2027-11-09T01:30:00-05:00", "tags": []},
]

_SUMMARY: dict[str, Any] = {
    "id": "nightly-report",
    "state": "active",
    "revision": 3,
    "in_words": "At 02:00 on Monday to Friday, America/New_York time, except on 2027-12-24",
    "kind": "report.build",
    "queue": "reports",
    "kinds": ["report.build"],
    "queues": ["reports"],
    "tags": [],
    "note": "for the morning meeting",
    "created_at": "2027-01-04T10:00:00Z",
    "updated_at": "2027-01-12T15:30:00Z",
    "updated_by": "anna",
    "paused": None,
    "next_at": "2027-01-18T07:00:00Z",
}

_RUN = {
    "job_id": "nightly-report~-2027-01-15T07:00:00Z",
    "nominal_time": "2027-01-15T07:00:00Z",
    "started_at": "2027-01-15T07:00:00.210Z",
    "finished_at": "2027-01-15T07:04:11.800Z",
    "state": "succeeded",
}

_VIEW: dict[str, Any] = {
    **{name: _SUMMARY[name] for name in ("id", "state", "revision", "in_words", "created_at", "updated_at")},
    "updated_by": "anna",
    "spec": SPEC_EXAMPLES["nightly"]["value"],
    "paused": None,
    "next": [{"utc": "2027-01-18T07:00:00Z", "local": "2027-01-18T02:00:00-05:00"}],
    "last_runs": [_RUN],
    "last_success": _RUN,
    "running": [],
    "queued": 0,
    "counters": {
        "fired": 10, "skipped_by_overlap": 1, "missed": 1, "made_up": 1, "triggered": 2, "backfilled": 0,
    },
    "skipped": [],
    "backfills": [],
    "runs_left": None,
    "exact_until": "2031-01-12T15:30:00Z",
    "warnings": [],
    "links": {
        "self": "/v1/schedules/nightly-report",
        "jobs": "/v1/jobs?schedule_id=nightly-report",
        "occurrences": "/v1/schedules/nightly-report/occurrences",
        "temporal": "http://localhost:8233/namespaces/default/schedules/nightly-report",
    },
}  # fmt: skip

_OCCURRENCES: list[dict[str, Any]] = [
    {
        "nominal_time": "2027-01-14T07:00:00Z",
        "local": "2027-01-14T02:00:00-05:00",
        "state": "skipped_overlap",
        "tags": [],
        "blocked_by": "nightly-report~-2027-01-13T07:00:00Z",
    },
    {
        "nominal_time": "2027-01-15T07:00:00Z",
        "local": "2027-01-15T02:00:00-05:00",
        "state": "fired",
        "tags": [],
        "job_id": _RUN["job_id"],
        "job_state": "succeeded",
        "link": f"/v1/jobs/{_RUN['job_id']}",
        "started_at": "2027-01-15T07:00:00.210Z",
        "late_by": "0.21s",
    },
]

#: Examples of the schemas in the OpenAPI document, by their names there.
SCHEDULE_EXAMPLES: dict[str, list[Any]] = {
    "ScheduleSet": [example["value"] for example in APPLY_EXAMPLES.values()],
    "AppliedView": [
        {
            "dry_run": True,
            "created": [],
            "changed": [
                {
                    "id": "nightly-report",
                    "changes": [{"pointer": "/cron", "from": "0 2 * * *", "to": "H 2 * * *"}],
                }
            ],
            "unchanged": [],
            "pruned": ["weekly-report"],
            "failed": [],
            "left": [],
        }
    ],
    "ForecastView": [
        {
            "from": "2027-01-15T08:00:00Z",
            "to": "2027-01-15T09:00:00Z",
            "schedules": 3,
            "paused": 1,
            "unreadable": [],
            "starts": 3.0,
            "minutes": [{"at": "2027-01-15T08:30:00Z", "starts": 3.0}],
            "peaks": [
                {
                    "at": "2027-01-15T08:30:00Z",
                    "starts": 3.0,
                    "share": 1.0,
                    "schedules": 3,
                    "of": ["billing", "mail", "report"],
                }
            ],
            "flatter": {
                "changes": [
                    {
                        "line": "30 8 * * *",
                        "cron": "H 8 * * *",
                        "jitter": None,
                        "schedules": 3,
                        "of": ["billing", "mail", "report"],
                    }
                ],
                "starts": 1.0,
                "share": 0.3333,
            },
        }
    ],
    "ScheduleSpec": [example["value"] for example in SPEC_EXAMPLES.values()],
    "SchedulePause": [{"reason": "month end", "until": "2027-02-01T06:00:00Z"}],
    "ScheduleResume": [{"missed": "run"}],
    "ScheduleTrigger": [{"by": "anna"}, {"overlap": "queue_one"}],
    "ScheduleBackfill": [{"from": "2027-01-01T00:00:00Z", "to": "2027-01-08T00:00:00Z", "dry_run": True}],
    "ScheduleSkip": [{"reason": "public holiday"}],
    "ScheduleView": [_VIEW],
    "SchedulePage": [{"schedules": [_SUMMARY], "next_cursor": None}],
    "Triggered": [
        {
            "job_id": "nightly-report~-2027-01-15T09:12:40Z",
            "state": "started",
            "links": {"job": "/v1/jobs/nightly-report~-2027-01-15T09:12:40Z"},
        },
        {
            "pipeline_id": "nightly-orders~-2027-01-15T09:12:40Z",
            "state": "started",
            "links": {"pipeline": "/v1/pipelines/nightly-orders~-2027-01-15T09:12:40Z"},
        },
    ],
    "BackfillAnswer": [
        {"dry_run": True, "count": 1, "left": 4, "times": ["2027-01-08T07:00:00Z"], "backfill": None}
    ],
    "OccurrencePage": [{"occurrences": _OCCURRENCES, "next_from": None}],
    "PreviewRequest": [example["value"] for example in PREVIEW_EXAMPLES.values()],
    "PreviewView": [
        {
            "timezone": "America/New_York",
            "fires": _FIRES,
            "ends": False,
            "in_words": "At 01:30 every day, America/New_York time, except on 2027-11-08",
            "warnings": [],
            "time_zone_database": "2026b",
        }
    ],
}
