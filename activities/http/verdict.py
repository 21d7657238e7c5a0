"""What an answer means for the job: a pure function of the request, the answer and the time.

==============================  =========================================================
status                          the job
==============================  =========================================================
in `success`                    succeeds with the answer
3xx                             fails for good: redirects are followed only when asked
408, 425, 429, 5xx              fails this attempt; `Retry-After` is honoured
other 2xx                       fails this attempt: the receiver may not be ready yet
other 4xx                       fails for good: the same request will not get better
==============================  =========================================================
"""

from datetime import datetime, timedelta

from activities.http.answer import Answer
from activities.http.redirect import is_redirect
from activities.http.request import HttpRequest
from activities.text import head
from duetime.contracts.duration import format_duration
from duetime.outcomes import Reject, RetryAfter
from duetime.retry_after import retry_after

#: The longest `Retry-After` that is obeyed: a receiver cannot put a job to sleep for years.
LONGEST_RETRY_AFTER = timedelta(days=1)
_SHOWN_OF_BODY = 500
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429})


class HttpFailed(Exception):
    """This attempt failed; another one may succeed."""


class HttpUnreachable(HttpFailed):
    """No whole answer: the name is unknown, nobody listens, TLS failed, or the connection broke."""


class HttpTimeout(HttpFailed):
    """No whole answer within the request's `timeout`."""


def conclude(request: HttpRequest, answer: Answer, asked: str, now: datetime) -> dict[str, object]:
    """The job's result, or the exception that says how it goes on; `asked` is the request in words."""
    status = answer.status
    if request.succeeds(status):
        return answer.as_result()
    said = f"{asked} answered {status}{_quoted(answer)}"
    if is_redirect(status):
        followed = f" after {request.follow_redirects} redirects" if request.follow_redirects else ""
        raise Reject(f"{said}: redirect {status} not followed{followed}; follow_redirects allows more")
    if status in _WORTH_ANOTHER_TRY or status >= 500:
        wait = retry_after(answer.values("retry-after"), now, LONGEST_RETRY_AFTER)
        if wait is not None:
            raise RetryAfter(wait, f"{said}, and to come back after {format_duration(wait)}")
        raise HttpFailed(said)
    if 200 <= status <= 299:
        raise HttpFailed(f"{said}, which is not in success")
    raise Reject(said)


def _quoted(answer: Answer) -> str:
    text = head(answer.body, cut=answer.cut).text.strip()
    return f": {text[:_SHOWN_OF_BODY]!r}" + ("…" if len(text) > _SHOWN_OF_BODY else "") if text else ""
