"""Who calls, and what they may see and do."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request

from api.problems import Problem
from api.security.scopes import Scope
from duetime.contracts.explain import Fault


@dataclass(frozen=True)
class Caller:
    """One caller of the API: a key, or anybody when the API is open.

    `queues` and `kinds` are what the caller is bound to; `None` is all of them. `scopes` has the included ones.
    """

    name: str
    scopes: frozenset[Scope]
    key_id: str | None = None
    queues: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    #: Requests a second; `None` is what the settings say.
    rate: int | None = None

    def __str__(self) -> str:
        return f"{self.name!r} ({self.key_id})" if self.key_id else self.name

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    @property
    def is_bound(self) -> bool:
        return self.queues is not None or self.kinds is not None

    def may_see(self, kind: str | None, queue: str | None) -> bool:
        """Whether a job of this kind on this queue exists for the caller. `None` is one that nobody can tell."""
        return _within(kind, self.kinds) and _within(queue, self.queues)

    def check_submission(
        self, kind: str, queue: str, on_conflict: Literal["reject", "return", "replace"] = "reject"
    ) -> None:
        """Passes when the caller may submit this; a `403` problem that names the field otherwise."""
        faults: list[Fault] = []
        if not _within(kind, self.kinds):
            faults.append(_outside("/kind", kind, self.kinds))
        if not _within(queue, self.queues):
            faults.append(_outside("/queue", queue, self.queues))
        # What these do to the job that is there takes what it takes anywhere else.
        if on_conflict == "return" and not self.may(Scope.READ):
            faults.append({"pointer": "/on_conflict", "message": "`return` answers with a job: needs `read`"})
        if on_conflict == "replace" and not self.may(Scope.OPERATE):
            faults.append({"pointer": "/on_conflict", "message": "`replace` ends a job: needs `operate`"})
        if faults:
            detail = "; ".join(f"{fault['pointer']}: {fault['message']}" for fault in faults)
            raise Problem(403, "not-allowed", "Not allowed", detail[:2000], errors=faults)


#: The caller of an API without keys.
ANYBODY = Caller("anybody", frozenset(Scope))


async def caller_of(request: Request) -> Caller:
    """The caller whom the route's gate let in."""
    found = request.state.caller
    assert isinstance(found, Caller)
    return found


#: For routes: `async def read(job_id: Id, caller: WhoCalls)`.
WhoCalls = Annotated[Caller, Depends(caller_of)]


def _within(value: str | None, allowed: frozenset[str] | None) -> bool:
    return allowed is None or value in allowed


def _outside(pointer: str, value: str, allowed: frozenset[str] | None) -> Fault:
    message = f"this key cannot submit to {value!r}: it is bound to {', '.join(sorted(allowed or ()))}"
    return {"pointer": pointer, "message": message}
