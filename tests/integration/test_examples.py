"""The handlers that newcomers try first do what they say."""

import asyncio
from typing import Any

from temporalio.client import Client

import examples.handlers
from tests.support.jobs import NO_WAIT, Jobs, Outcome, outcome_of, reason_of
from tests.support.waiting import eventually
from tests.support.workers import serving


async def test_each_example(jobs: Jobs, client: Client) -> None:
    def mail(to: str) -> dict[str, str]:
        return {"to": to, "text": "Dentist at ten"}

    async with serving(client, jobs.queue, examples.handlers):
        later = await jobs.start("reminder.send", mail("later@example.org"))
        await eventually(lambda: reason_of(later))
        await later.execute_update("run_now")
        ends = await asyncio.gather(
            jobs.run("hello"),
            jobs.run("hello", {"name": "Zoë"}),
            jobs.run("reminder.send", mail("a@example.org")),
            jobs.run("reminder.send", mail("busy@example.org")),
            jobs.run("reminder.send", mail("a@invalid.example")),
            jobs.run("reminder.send", {"to": "nobody"}),
            outcome_of(later),
            jobs.run("export.rows", {"rows": 50, "seconds": 0}),
            jobs.run("flaky", {"failures": 1}, retry=NO_WAIT),
        )
    assert [summary(end) for end in ends] == [
        ({"greeting": "Hello, world!"}, ["succeeded"]),
        ({"greeting": "Hello, Zoë!"}, ["succeeded"]),
        ("a@example.org", ["succeeded"]),
        ("busy@example.org", ["failed", "succeeded"]),
        ("Rejected: a@invalid.example takes no mail", ["failed"]),
        ("InvalidPayload", ["failed"]),
        ("later@example.org", ["snoozed", "succeeded"]),
        ({"rows": 50}, ["succeeded"]),
        ("done at attempt 2", ["failed", "succeeded"]),
    ]


def summary(end: Outcome) -> tuple[Any, list[str]]:
    if end.type == "InvalidPayload":
        assert "/payload/to: " in end.message and "/payload/text: is required" in end.message
        return end.type, end.outcomes
    if end.type:
        return f"{end.type}: {end.message}", end.outcomes
    result = end.result
    return result["sent_to"] if isinstance(result, dict) and "sent_to" in result else result, end.outcomes
