"""Jobs with a plain Temporal client: the same jobs as those of the API."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client as TemporalClient

from duetime import JobSpec, State, errors, handler
from duetime.contracts.states import AttemptOutcome
from duetime.temporal import JobOutcome, await_job, start_job
from tests.client.handlers import ALL, GATES, hang
from tests.client.worlds import RealWorld


@pytest.fixture
async def served(real: RealWorld) -> RealWorld:
    await real.serve(*ALL)
    return real


def facts(described: Any) -> dict[str, Any]:
    """What the server was told of a job, but for what differs between any two."""
    attributes = {pair.key.name: pair.value for pair in described.typed_search_attributes}
    due = attributes.pop("DuetimeDueAt")
    start = described.raw_description.workflow_execution_info
    return {
        "attributes": attributes,
        "due": due - described.start_time,
        "delay": start.execution_time.ToDatetime() - start.start_time.ToDatetime(),
        "priority": start.priority.priority_key,
        "queue": described.task_queue,
        "type": described.workflow_type,
    }


async def test_a_job_is_started_just_as_the_api_does(served: RealWorld, client: TemporalClient) -> None:
    fields = {
        "kind": "conf.echo",
        "queue": served.queue,
        "tags": ["b", "a"],
        "priority": 2,
        "fairness_key": "t",
    }
    by_api = await served.client.submit(**fields, delay="1h", spread="0s")
    handle = await start_job(client, {**fields, "delay": "1h"})
    described = [await client.get_workflow_handle(i).describe() for i in (by_api.id, handle.id)]
    one, other = (facts(each) for each in described)
    for name in ("due", "delay"):
        assert abs(one.pop(name) - other.pop(name)) < timedelta(seconds=1)
    assert one == other
    inputs = []
    for job_id in (by_api.id, handle.id):
        history = await client.get_workflow_handle(job_id).fetch_history()
        started = history.events[0].workflow_execution_started_event_attributes
        inputs.append(await client.data_converter.decode(started.input.payloads))
    for each in inputs:
        assert each[0].pop("run_at")
    assert inputs[0] == inputs[1]
    assert (await served.client.get(handle.id)).state is State.SCHEDULED


async def test_its_outcome_is_awaited(served: RealWorld, client: TemporalClient, job_id: str) -> None:
    job = JobSpec(kind="conf.thread", queue=served.queue, id=job_id)
    await start_job(client, job)
    outcome = await await_job(client, job_id)
    assert (outcome.id, outcome.result, outcome.checkpoint) == (job_id, "done", {"from": "a thread"})
    assert isinstance(outcome, JobOutcome)
    assert [attempt.outcome for attempt in outcome.attempts] == [AttemptOutcome.SUCCEEDED]
    assert outcome.progress is not None
    assert outcome.progress.message == "half way"


async def test_an_id_keeps_a_job_from_being_started_twice(
    served: RealWorld, client: TemporalClient, job_id: str
) -> None:
    job = {"kind": "conf.hold", "queue": served.queue, "id": job_id}
    first = await start_job(client, job)
    with pytest.raises(errors.IdInUse, match=f"'{job_id}' is open"):
        await start_job(client, job)
    there = await start_job(client, job, on_conflict="return")
    assert there.id == job_id
    replaced = await start_job(client, job, on_conflict="replace")
    assert replaced.first_execution_run_id != first.first_execution_run_id
    await served.reaches(job_id, State.RUNNING)
    GATES[job_id].set()
    assert (await await_job(client, job_id)).result == "let go"
    for on_conflict in ("reject", "return", "replace"):
        with pytest.raises(errors.IdInUse, match="is finished; `reuse_id=True`"):
            await start_job(client, job, on_conflict=on_conflict)
    await start_job(client, job, reuse_id=True)
    assert (await await_job(client, job_id)).result == "let go"


async def test_without_an_id_one_is_made_up(served: RealWorld, client: TemporalClient) -> None:
    job = {"kind": "conf.echo", "queue": served.queue, "delay": "1h"}
    assert (await start_job(client, job)).id != (await start_job(client, job)).id


async def test_how_it_failed_is_raised(served: RealWorld, client: TemporalClient, job_id: str) -> None:
    await start_job(
        client, {"kind": "conf.raise", "queue": served.queue, "id": job_id, "payload": {"how": "reject"}}
    )
    with pytest.raises(errors.JobFailed, match="Rejected: never") as failed:
        await await_job(client, job_id)
    assert (failed.value.id, failed.value.state) == (job_id, State.FAILED)
    assert failed.value.error is not None
    assert "in raise_" in (failed.value.error.stack or "")
    assert [attempt.outcome for attempt in failed.value.attempts] == [AttemptOutcome.FAILED]


@pytest.mark.parametrize("mode", ["graceful", "force"])
async def test_that_it_was_cancelled_is_raised(
    served: RealWorld, client: TemporalClient, job_id: str, mode: Any
) -> None:
    await start_job(client, {"kind": "conf.hold", "queue": served.queue, "id": job_id})
    await served.reaches(job_id, State.RUNNING)
    await served.client.cancel(job_id, mode=mode, reason="not wanted")
    with pytest.raises(errors.JobWasCancelled, match="not wanted") as cancelled:
        await await_job(client, job_id)
    assert [attempt.outcome for attempt in cancelled.value.attempts] == [AttemptOutcome.CANCELLED]


async def test_that_it_expired_is_told_from_a_failure_of_that_name(
    served: RealWorld, client: TemporalClient, queue: str
) -> None:
    nobody = await start_job(client, {"kind": "conf.echo", "queue": f"{queue}-2", "deadline": "1s"})
    with pytest.raises(errors.JobExpired):
        await await_job(client, nobody.id)

    class DeadlineExceeded(Exception):
        pass

    @handler("conf.liar", retry={"max_attempts": 1})
    async def liar(payload: dict[str, Any]) -> None:
        raise DeadlineExceeded

    other = RealWorld(served.client, f"{queue}-3", client)
    await other.serve(liar)
    try:
        lying = await start_job(client, {"kind": "conf.liar", "queue": other.queue}, defaults_of=liar)
        with pytest.raises(errors.JobFailed):
            await await_job(client, lying.id)
    finally:
        await other.close()


async def test_one_run_can_be_awaited(served: RealWorld, client: TemporalClient, job_id: str) -> None:
    job = {"kind": "conf.echo", "queue": served.queue, "id": job_id, "payload": {"value": 1}}
    first = await start_job(client, job)
    await await_job(client, job_id)
    await start_job(client, {**job, "payload": {"value": 2}}, reuse_id=True)
    assert (await await_job(client, job_id)).result == 2
    assert (await await_job(client, job_id, run_id=first.first_execution_run_id)).result == 1


async def test_the_handlers_defaults_hold_when_asked_for(
    served: RealWorld, client: TemporalClient, queue: str
) -> None:
    job = {"kind": "conf.hang", "queue": queue, "delay": "1h"}
    plain = await start_job(client, job)
    with_defaults = await start_job(client, job, defaults_of=hang)

    async def attempts(job_id: str) -> int:
        return (await served.client.get(job_id)).max_attempts

    assert await attempts(plain.id) == 5
    assert await attempts(with_defaults.id) == 1


@pytest.mark.parametrize(
    ("job", "refusal", "says"),
    [
        ({"kind": "conf.echo", "priority": 9}, errors.InvalidField, "/priority"),
        ({"kind": "conf.echo", "dealy": "1s"}, errors.InvalidField, "did you mean `delay`"),
        ({"kind": "conf.echo", "delay": "6000d"}, errors.InvalidField, "/delay: more than five years"),
        ({"kind": "conf.echo", "payload": {"x": float("nan")}}, errors.InvalidField, "/payload/x"),
        ({"kind": "conf.echo", "payload": {"x": "y" * 262_144}}, errors.TooLarge, "/payload"),
    ],
)
async def test_a_job_that_cannot_be_is_refused_before_it_is_started(
    client: TemporalClient, job: dict[str, Any], refusal: type[Exception], says: str
) -> None:
    with pytest.raises(refusal, match=says):
        await start_job(client, job)


async def test_an_unknown_id_is_not_found(client: TemporalClient, job_id: str) -> None:
    with pytest.raises(errors.NotFound, match=job_id):
        await await_job(client, job_id)
