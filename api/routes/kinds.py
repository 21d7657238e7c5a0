"""`/v1/kinds`: what workers announced that they can run."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from api.jobs.manager import Jobs, jobs_of
from api.problems import Problem, problem_responses
from api.strict import StrictRoute
from duetime.contracts.kinds import KindEntry, KindList, KindView, ServedOn

router = APIRouter(prefix="/v1/kinds", tags=["kinds"], route_class=StrictRoute)

Manager = Annotated[Jobs, Depends(jobs_of)]


@router.get("", summary="Known kinds", operation_id="listKinds", responses=problem_responses(503))
async def kinds(jobs: Manager) -> KindList:
    known = await jobs.known.all()
    return KindList(kinds=[_view(kind, list(entries.values())) for kind, entries in sorted(known.items())])


@router.get("/{kind:path}", summary="One kind", operation_id="getKind", responses=problem_responses(404, 503))
async def one_kind(
    kind: Annotated[str, Path(description="the kind's name", max_length=200)], jobs: Manager
) -> KindView:
    entries = (await jobs.known.all()).get(kind)
    if not entries:
        raise Problem(404, "not-found", "Not found", f"no worker ever announced the kind {kind!r}")
    return _view(kind, list(entries.values()))


def _view(kind: str, entries: list[KindEntry]) -> KindView:
    queues = [
        ServedOn(queue=entry.queue, payload_schema=entry.payload_schema, defaults=entry.defaults)
        for entry in sorted(entries, key=lambda entry: entry.queue)
    ]
    return KindView(kind=kind, description=entries[0].description, queues=queues)
