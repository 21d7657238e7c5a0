"""What makes a pipeline valid beyond the types of its fields: names, no cycles, references that can be resolved."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from duetime.contracts import limits
from duetime.contracts.explain import Fault, bounded, explain
from duetime.contracts.json_value import JsonValueError, check_json
from duetime.contracts.pipeline import PipelineJob, PipelineSpec, When, job_id
from duetime.contracts.references import ITEM, BadReference, Reference, find, parse_reference

_LONGEST_CYCLE_TOLD = 20


class BadPipeline(ValueError):
    """No pipeline; `faults` are pointers and sentences."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        super().__init__(faults)


def read_pipeline(value: Any, pipeline_id: str | None = None) -> PipelineSpec:
    """The pipeline that the JSON `value` is; `BadPipeline` tells every fault of it. `pipeline_id` when it is known."""
    try:
        check_json(value, limits.PIPELINE_BYTES, depth=limits.JSON_DEPTH + 5)
        spec = PipelineSpec.model_validate(value)
    except JsonValueError as error:
        raise BadPipeline([{"pointer": error.pointer, "message": str(error)}]) from None
    except ValidationError as error:
        raise BadPipeline(explain(error, PipelineSpec, value)) from None
    if faults := pipeline_faults(spec, pipeline_id or spec.id):
        raise BadPipeline(faults)
    return spec


def pipeline_faults(spec: PipelineSpec, pipeline_id: str | None = None) -> list[Fault]:
    """What is wrong with a graph of well-formed jobs: nothing that this accepts can wait for ever.

    Takes time in proportion to the jobs and their needs.
    """
    faults = [*_need_faults(spec), *_id_faults(spec, pipeline_id), *_payload_faults(spec)]
    if not faults:
        cycle = find_cycle({name: job.needs for name, job in spec.jobs.items()})
        faults = [_cycle_fault(cycle)] if cycle else list(_reference_faults(spec))
    return bounded(faults, len(faults))


def _need_faults(spec: PipelineSpec) -> Iterator[Fault]:
    for name, job in spec.jobs.items():
        if job.when in (When.ANY_FAILED, When.ANY_SUCCEEDED) and not job.needs:
            message = f"`{job.when}` is about the jobs in `needs`, and it names none"
            yield {"pointer": f"/jobs/{name}/when", "message": message}
        seen: set[str] = set()
        for index, needed in enumerate(job.needs):
            pointer = f"/jobs/{name}/needs/{index}"
            if needed == name:
                yield {"pointer": pointer, "message": "a job cannot need itself"}
            elif needed not in spec.jobs:
                yield {"pointer": pointer, "message": _unknown(needed, spec.jobs)}
            elif needed in seen:
                yield {"pointer": pointer, "message": f"{needed!r} is there twice"}
            seen.add(needed)


def _unknown(name: str, known: Iterable[str]) -> str:
    folded = {other.casefold(): other for other in known}
    near = folded.get(name.casefold())
    hint = f"; did you mean {near!r}?" if near else ""
    return f"the pipeline has no job {name!r}{hint}"


def _id_faults(spec: PipelineSpec, pipeline_id: str | None) -> Iterator[Fault]:
    own = f"{pipeline_id}~" if pipeline_id else None
    for name, job in spec.jobs.items():
        for index, other in enumerate(job.after):
            if own and other.startswith(own):
                message = "is a job of this pipeline: name it in `needs`"
                yield {"pointer": f"/jobs/{name}/after/{index}", "message": message}
        longest = len(job_id(pipeline_id or "", name, limits.ITEMS - 1 if job.for_each is not None else None))
        if longest > limits.DERIVED_ID_LENGTH:
            message = (
                f"its id, the pipeline's and the name with what is between, would have {longest} characters; "
                f"at most {limits.DERIVED_ID_LENGTH}: shorten one of them"
            )
            yield {"pointer": f"/jobs/{name}", "message": message}


def _payload_faults(spec: PipelineSpec) -> Iterator[Fault]:
    for name, job in spec.jobs.items():
        try:
            check_json(job.payload, limits.PAYLOAD_BYTES)
        except JsonValueError as error:
            yield {"pointer": f"/jobs/{name}/payload{error.pointer}", "message": str(error)}
        if isinstance(job.for_each, list) and len(job.for_each) > limits.ITEMS:
            message = f"{len(job.for_each):,} items; at most {limits.ITEMS:,}"
            yield {"pointer": f"/jobs/{name}/for_each", "message": message}


def _cycle_fault(cycle: list[str]) -> Fault:
    told = cycle
    if len(cycle) > _LONGEST_CYCLE_TOLD:
        told = [
            *cycle[: _LONGEST_CYCLE_TOLD - 2],
            f"… {len(cycle) - _LONGEST_CYCLE_TOLD + 1} more …",
            cycle[-1],
        ]
    message = f"these jobs wait for each other: {' needs '.join(told)}"
    return {"pointer": f"/jobs/{cycle[0]}/needs", "message": message}


def find_cycle(needs: Mapping[str, Iterable[str]]) -> list[str] | None:
    """A cycle as a path whose last job is its first, each needing the next; `None` when there is none.

    A depth-first search with three colours and a stack of its own, so that a long chain is no deep recursion.
    """
    done: set[str] = set()
    for root in needs:
        if root in done:
            continue
        path, on_path = [root], {root}
        stack = [iter(needs[root])]
        while stack:
            for needed in stack[-1]:
                if needed in on_path:
                    return [*path[path.index(needed) :], needed]
                if needed not in done:
                    path.append(needed)
                    on_path.add(needed)
                    stack.append(iter(needs[needed]))
                    break
            else:
                stack.pop()
                left = path.pop()
                on_path.discard(left)
                done.add(left)
    return None


def in_order(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """The jobs of a graph without cycles, each after those that it needs, else in the order given."""
    ordered: dict[str, None] = {}
    for root in needs:
        stack = [(root, iter(needs[root]))] if root not in ordered else []
        while stack:
            name, left = stack[-1]
            following = next((needed for needed in left if needed not in ordered), None)
            if following is None:
                ordered[name] = None
                stack.pop()
            else:
                stack.append((following, iter(needs[following])))
    return list(ordered)


def _reference_faults(spec: PipelineSpec) -> Iterator[Fault]:
    before = _closures(spec)
    bits = {name: 1 << index for index, name in enumerate(spec.jobs)}
    for name, job in spec.jobs.items():
        found: list[Reference] = []
        for pointer, value in _told_references(name, job):
            try:
                found.append(parse_reference(value, pointer))
            except BadReference as error:
                yield {"pointer": pointer, "message": str(error)}
        for reference in found:
            if reference.marker == ITEM:
                if job.for_each is None or reference.pointer.startswith(f"/jobs/{name}/for_each"):
                    message = f"{ITEM!r} only goes into the payload of a job with `for_each`"
                    yield {"pointer": reference.pointer, "message": message}
            elif reference.name not in spec.jobs:
                yield {"pointer": reference.pointer, "message": _unknown(reference.name, spec.jobs)}
            elif not before[name] & bits[reference.name]:
                message = f"{name!r} does not come after {reference.name!r}: name it in `needs`"
                yield {"pointer": reference.pointer, "message": message}
        if job.for_each is not None and not any(r.marker == ITEM for r in found):
            message = f'the payload takes nothing of the items of `for_each`: put {{"{ITEM}": ""}} where the item goes'
            yield {"pointer": f"/jobs/{name}/payload", "message": message}


def _told_references(name: str, job: PipelineJob) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from find(job.payload, f"/jobs/{name}/payload")
    if job.for_each is not None:
        yield from find(job.for_each, f"/jobs/{name}/for_each")


def _closures(spec: PipelineSpec) -> dict[str, int]:
    """For each job the set of all that come before it, as the bits of one number each."""
    bits = {name: 1 << index for index, name in enumerate(spec.jobs)}
    closures: dict[str, int] = {}
    for name in in_order({name: job.needs for name, job in spec.jobs.items()}):
        before = 0
        for needed in spec.jobs[name].needs:
            before |= closures[needed] | bits[needed]
        closures[name] = before
    return closures
