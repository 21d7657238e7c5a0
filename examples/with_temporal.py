"""The same jobs with a plain Temporal client: `python -m examples.with_temporal` while `make run` runs."""

from temporalio.client import Client

from duetime import errors
from duetime.connection import connect
from duetime.process import run_main
from duetime.temporal import await_job, start_job
from examples.handlers import send_reminder


async def main(client: Client) -> list[str]:
    """What came of two reminders."""
    reminder = {"kind": "reminder.send", "payload": {"to": "a@example.org", "text": "Dentist at ten"}}
    handle = await start_job(client, reminder, defaults_of=send_reminder)
    outcome = await await_job(client, handle.id)
    told = [f"sent to {outcome.result['sent_to']} at attempt {len(outcome.attempts)}"]

    refused = {**reminder, "payload": {"to": "a@invalid.example", "text": "Dentist at ten"}}
    handle = await start_job(client, refused)
    try:
        await await_job(client, handle.id)
    except errors.JobFailed as failed:
        told.append(str(failed.error.message) if failed.error else "failed")
    return told


async def _run() -> None:
    print(*await main(await connect("localhost:7233")), sep="\n")


if __name__ == "__main__":
    run_main(_run)
