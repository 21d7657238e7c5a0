"""`/v1/kinds`: what workers announced that they can run."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Path

from api.jobs.manager import Jobs, jobs_of
from api.problems import Problem, problem_responses
from api.security.caller import Caller, WhoCalls
from api.security.scopes import Scope, needs
from api.strict import StrictRoute
from duetime.contracts.kinds import KindEntry, KindList, KindView, ServedOn

router = APIRouter(prefix="/v1/kinds", tags=["kinds"], route_class=StrictRoute)

Manager = Annotated[Jobs, Depends(jobs_of)]


@router.get("", summary="Known kinds", operation_id="listKinds", responses=problem_responses(503))
@needs(Scope.READ)
async def kinds(jobs: Manager, caller: WhoCalls) -> KindList:
    known = await jobs.known.all()
    seen = ((kind, _seen(caller, entries)) for kind, entries in sorted(known.items()))
    return KindList(kinds=[_view(kind, entries) for kind, entries in seen if entries])


@router.get("/{kind:path}", summary="One kind", operation_id="getKind", responses=problem_responses(404, 503))
@needs(Scope.READ)
async def one_kind(
    kind: Annotated[str, Path(description="the kind's name", max_length=200)], jobs: Manager, caller: WhoCalls
) -> KindView:
    entries = _seen(caller, (await jobs.known.all()).get(kind, {}))
    if not entries:
        raise Problem(404, "not-found", "Not found", f"no worker ever announced the kind {kind!r}")
    return _view(kind, entries)


def _seen(caller: Caller, entries: Mapping[str, KindEntry]) -> list[KindEntry]:
    return [entry for entry in entries.values() if caller.may_see(entry.kind, entry.queue)]


def _view(kind: str, entries: list[KindEntry]) -> KindView:
    queues = [
        ServedOn(queue=entry.queue, payload_schema=entry.payload_schema, defaults=entry.defaults)
        for entry in sorted(entries, key=lambda entry: entry.queue)
    ]
    return KindView(kind=kind, description=entries[0].description, queues=queues)
