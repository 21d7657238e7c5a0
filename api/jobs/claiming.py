"""Accepting under an id that somebody may have, for jobs and pipelines alike.

The start is strictly new at first. Only when the server says that the id is taken is it read who has it, and the start
made again as wide as that allows: between two looks the holder may end, or another begin.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, Literal, Protocol, TypeVar

from temporalio.exceptions import WorkflowAlreadyStartedError

from api.jobs.idempotency import Keyed, Match, match, other_body
from api.problems import Problem, unavailable

View = TypeVar("View")
Claim = TypeVar("Claim")

_LOOKS = 5
_FINISHED = 'has this id and is finished; send "reuse_id": true to use the id again'
_OPEN = "has this id and is still open; `on_conflict` says what else to do"


@dataclass(frozen=True)
class Accepted(Generic[View]):
    """`created` tells a new one from one that was there; `replayed` that the key brought it back."""

    view: View
    created: bool
    replayed: bool = False


class Holder(Keyed, Protocol):
    """Whoever has the id."""

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""


class Wishes(Protocol):
    """What a submission says of an id that is taken."""

    @property
    def on_conflict(self) -> Literal["reject", "return", "replace"]:
        """What to do with an open one."""

    @property
    def reuse_id(self) -> bool:
        """Whether a finished one may lose its id."""


class Verdict(Enum):
    """What becomes of a submission whose id is taken."""

    #: The same key and body made the one that is there.
    REPLAY = auto()
    #: The one that is there is the answer.
    RETURN = auto()
    #: The start is made again: beside the finished one, or in the place of the open one.
    AGAIN = auto()
    REPLACE = auto()
    REFUSE = auto()


def judge(holder: Holder, wanted: dict[str, str] | None, wishes: Wishes) -> Verdict:
    """What becomes of a submission with the hashes `wanted`; a `422` problem when its key had another body."""
    if wanted is not None:
        match match(holder, wanted):
            case Match.SAME:
                return Verdict.REPLAY
            case Match.OTHER_BODY:
                raise other_body()
    if not holder.is_open:
        return Verdict.AGAIN if wishes.reuse_id else Verdict.REFUSE
    match wishes.on_conflict:
        case "return":
            return Verdict.RETURN
        case "replace":
            return Verdict.REPLACE
        case "reject":
            return Verdict.REFUSE


async def accept(
    claimed_id: str,
    claim: Claim,
    start: Callable[[Claim], Awaitable[View]],
    taken: Callable[[], Awaitable[Accepted[View] | Claim]],
) -> Accepted[View]:
    """Starts with `claim`; whenever the id is `taken`, that says what is there, or how to claim it next.

    A `503` problem when the id changes hands each time.
    """
    for _ in range(_LOOKS):
        try:
            return Accepted(await start(claim), created=True)
        except WorkflowAlreadyStartedError:
            decided = await taken()
        if isinstance(decided, Accepted):
            return decided
        claim = decided
    raise unavailable(f"the id {claimed_id!r} changes hands too fast; try again", "busy_id")


def refused(holder: Holder, told: str, **extra: Any) -> Problem:
    """`409` for the verdict `REFUSE`; `told` names the holder with its state."""
    return in_use(f"{told} {_OPEN if holder.is_open else _FINISHED}", **extra)


def in_use(detail: str, **extra: Any) -> Problem:
    """`409`: somebody has the id."""
    return Problem(409, "id-in-use", "The id is in use", detail, extra=extra)
