"""What one API instance counts, since it started. `docs/metrics.md` lists it; a test holds it to this.

Kinds and queues come from callers, who could name a new one with each call: beyond a bound they count as `other`.
"""

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY = CollectorRegistry()

_SUBMITTED = Counter("duetime_jobs_submitted", "Jobs accepted", ["kind", "queue"], registry=REGISTRY)
_FINISHED = Counter(
    "duetime_jobs_finished",
    "Jobs that this API ended by itself, which no attempt held",
    ["kind", "queue", "outcome"],
    registry=REGISTRY,
)
_STALE_TOKENS = Counter(
    "duetime_stale_tokens_refused", "Old fencing tokens that a check refused", registry=REGISTRY
)
_REQUESTS = Counter(
    "duetime_http_requests", "Answered requests", ["method", "route", "status"], registry=REGISTRY
)
_REQUEST_DURATION = Histogram(
    "duetime_http_request_duration_seconds",
    "How long requests took, until their last byte",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
    registry=REGISTRY,
)

_OTHER = "other"
_PAIRS = 1_000
_known: set[tuple[str, str]] = set()


def _bounded(kind: str, queue: str) -> tuple[str, str]:
    pair = (kind, queue)
    if pair not in _known:
        if len(_known) >= _PAIRS:
            return _OTHER, _OTHER
        _known.add(pair)
    return pair


def job_submitted(kind: str, queue: str) -> None:
    """A job was accepted that was not there before."""
    _SUBMITTED.labels(*_bounded(kind, queue)).inc()


def job_ended(kind: str, queue: str, outcome: str) -> None:
    """A job was brought to its end by the API: its workflow does not count it."""
    _FINISHED.labels(*_bounded(kind, queue), outcome).inc()


def stale_token_refused() -> None:
    """A check found an old fencing token."""
    _STALE_TOKENS.inc()


def request_answered(method: str, route: str, status: int, seconds: float) -> None:
    """A request was answered. `route` is its pattern, never its path: paths hold ids."""
    _REQUESTS.labels(method, route, str(status)).inc()
    _REQUEST_DURATION.labels(method, route).observe(seconds)
