"""What `FakeDuetime` does not have, and what to use in its place: every call for that is refused, none is ignored."""

from duetime.errors import ApiError, problem_error

_FOR_REAL = "on a real Duetime (the fixture `duetime_service`)"

#: How the path of a request begins that the fake has no answer for, and what to say; the first that fits counts.
_SAID = (
    (
        "/v1/schedules",
        "keeps no schedules: test the handlers of their jobs here, what a rule does with `duetime.cron`, and the whole",
    ),
    ("/v1/pipelines", "runs no pipelines: test their handlers one by one here, and the whole"),
    (
        ("/v1/operations", "/v1/jobs:retry", "/v1/jobs:cancel"),
        "has no operations on many jobs: redrive and cancel jobs one by one here (`client.retry`, `client.cancel`), "
        "and test the whole",
    ),
    (
        "/v1/queues",
        "has no queues to look at, to pause or to limit: `fake.register(…, queues=[…])` says who serves them here; "
        "test the rest",
    ),
    (
        ("/v1/backlog", "/v1/doctor"),
        "has nothing to examine: look at `fake.jobs()` here, and test the rest",
    ),
)


def not_in_the_fake(method: str, path: str) -> ApiError:
    """The refusal of a request: `501`, with the way out."""
    said = next(
        (text for begin, text in _SAID if path.startswith(begin)), f"has no {method} {path}: try that"
    )
    if path.endswith("/why"):
        said = (
            "does not tell why a job waits: look at `fake.job(id)`, and read what `Stuck` says; try the call"
        )
    return problem_error(501, "not-in-the-fake", "Not in the fake", f"FakeDuetime {said} {_FOR_REAL}")
