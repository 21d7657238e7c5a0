"""Whether to send a call again, and when: a pure decision.

=======================================  ==========================  =========================
what happened                            `Repeat.ALWAYS`             `Repeat.IF_NOT_DONE`
=======================================  ==========================  =========================
no connection, so nothing was sent       again                       again
429                                      again                       again
502, 503, 504                            again                       `Unavailable`
the connection broke, no answer in time  again                       `Unreachable`
any other answer                         that is the answer          that is the answer
=======================================  ==========================  =========================

The waits grow from 0.2 s to 5 s, each with full jitter
(https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), and `Retry-After` comes before them. When
what is left of the deadline is shorter than the wait, there is no use in waiting.
"""

from datetime import timedelta
from enum import Enum, auto

from duetime.client.call import Repeat

_FIRST, _LONGEST = timedelta(seconds=0.1), timedelta(seconds=5)

#: Answers that a later try may not get.
PASSING = frozenset({429, 502, 503, 504})


class Fate(Enum):
    """What became of a call that has no answer to return."""

    #: Certainly not carried out: nothing was sent, or it was refused for coming too often.
    NOT_DONE = auto()
    #: Perhaps carried out.
    UNKNOWN = auto()


def wait_before_repeat(
    fate: Fate, repeat: Repeat, tries: int, left: timedelta, chance: float, retry_after: timedelta | None
) -> timedelta | None:
    """How long to wait before the next try; `None` to give up.

    `tries` were made, `left` is what remains of the deadline, `chance` in [0, 1) the caller's random number.
    """
    if fate is Fate.UNKNOWN and repeat is Repeat.IF_NOT_DONE:
        return None
    wait = min(_LONGEST, _FIRST * 2 ** min(tries, 10)) * chance
    if retry_after is not None:
        wait += retry_after
    return wait if wait < left else None
