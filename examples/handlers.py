"""Handlers to look at and to try: `make run` loads them."""

import asyncio
import random

from pydantic import BaseModel, Field

from duetime import Job, Reject, RetryAfter, Snooze, handler


class Greeting(BaseModel):
    name: str = "world"


@handler("hello", timeout="30s")
async def hello(greeting: Greeting, job: Job) -> dict[str, str]:
    """Greets."""
    job.log.info("greeting %s", greeting.name)
    return {"greeting": f"Hello, {greeting.name}!"}


class Reminder(BaseModel):
    to: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    text: str


@handler("reminder.send", lease="30s", timeout="5m")
async def send_reminder(reminder: Reminder, job: Job) -> dict[str, str]:
    """Pretends to send a mail: refuses some, comes back later for others."""
    if reminder.to.endswith("@invalid.example"):
        raise Reject(f"{reminder.to} takes no mail")
    if reminder.to.startswith("busy@") and job.attempt == 1:
        raise RetryAfter("2s", "the mail server is busy")
    if reminder.to.startswith("later@") and job.checkpoint is None:
        await job.save_checkpoint("asked to wait")
        raise Snooze("5s")
    return {"sent_to": reminder.to, "message_id": job.idempotency_key}


class Export(BaseModel):
    rows: int = Field(100, ge=1, le=100_000)
    seconds: float = Field(10.0, ge=0, le=600)


@handler("export.rows", lease="10s", timeout="15m")
async def export_rows(export: Export, job: Job) -> dict[str, int]:
    """A long job that goes on where it was: kill its worker and watch."""
    done = job.checkpoint or 0
    while done < export.rows:
        await asyncio.sleep(export.seconds / 20)
        done = min(export.rows, done + max(1, export.rows // 20))
        await job.save_checkpoint(done)
        job.progress(done, export.rows, "rows written")
    return {"rows": done}


class Flaky(BaseModel):
    failures: int = Field(2, ge=0, le=20)


@handler("flaky", retry={"initial_interval": "1s"})
def flaky(payload: Flaky, job: Job) -> str:
    """Fails so many times before it succeeds; a `def` handler runs in a thread."""
    if job.attempt <= payload.failures:
        raise ConnectionError(f"the far side hung up (code {random.randint(100, 999)})")  # noqa: S311
    return f"done at attempt {job.attempt}"
