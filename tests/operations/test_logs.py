"""Lines of a handler name their job; secrets are in none."""

import asyncio
import contextlib
import io
import json
import logging
import threading
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from duetime.handlers import handler
from duetime.logs import (
    JobFilter,
    JsonFormatter,
    TextFormatter,
    Veil,
    keep_payloads_out,
    set_up_logs,
    speak_for,
)
from duetime.runtime.context import Job
from duetime.settings import Settings
from tests.operations.bench import Bench

library = logging.getLogger("some.library")
SENTINEL = "s3ntinel-5f1c"


@handler("logs")
async def logs(payload: dict[str, Any], job: Job) -> None:
    job.log.info("from the job")
    library.warning("from a library")
    await asyncio.to_thread(library.warning, "from a thread")
    task = asyncio.create_task(_from_a_task())
    await task
    if job.attempt == 1:
        raise RuntimeError(payload.get("secret", "again"))


async def _from_a_task() -> None:
    library.warning("from a task")


@handler("logs.sync")
def logs_sync(payload: dict[str, Any], job: Job) -> None:
    library.warning("from a plain function")
    thread = threading.Thread(target=copy_context().run, args=(library.warning, "from its own thread"))
    thread.start()
    thread.join()


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Everything that a process of ours would log at `debug`, as JSON."""
    written = io.StringIO()
    catcher = logging.StreamHandler(written)
    catcher.addFilter(JobFilter())
    catcher.setFormatter(JsonFormatter(Veil()))
    root = logging.getLogger()
    root.addHandler(catcher)
    with levels():
        root.setLevel(logging.DEBUG)
        keep_payloads_out()
        yield written
    root.removeHandler(catcher)


@contextlib.contextmanager
def levels() -> Iterator[None]:
    """Loggers as in a process of its own: what another test set is set again afterwards."""
    loggers = [logging.getLogger(name) for name in (None, "duetime", "temporalio", "temporalio.activity")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def test_whatever_a_handler_logs_names_its_job_and_attempt(bench: Bench, stream: io.StringIO) -> None:
    first = await bench.submit(kind="logs", retry={"initial_interval": "0s"})
    other = await bench.submit(kind="logs.sync")
    async with bench.worker(logs, logs_sync):
        for job_id in (first, other):
            await bench.in_state(job_id, "succeeded")
    told = [
        (line["message"], line.get("job_id"), line.get("attempt"), line.get("kind"))
        for line in lines(stream)
        if line["message"].startswith("from ")
    ]
    texts = ["from the job", "from a library", "from a thread", "from a task"]
    assert [one for one in told if one[1] == first] == [
        (text, first, attempt, "logs") for attempt in (1, 2) for text in texts
    ]
    assert {one for one in told if one[1] == other} == {
        ("from a plain function", other, 1, "logs.sync"),
        ("from its own thread", other, 1, "logs.sync"),
    }
    assert len(told) == 10


async def test_payloads_headers_and_errors_of_handlers_are_not_logged(
    bench: Bench, stream: io.StringIO
) -> None:
    body = {
        "kind": "logs",
        "queue": bench.queue,
        "payload": {"secret": SENTINEL},
        "retry": {"max_attempts": 1},
    }
    headers = {"Idempotency-Key": f"{SENTINEL}-{bench.queue}", "Authorization": f"Bearer {SENTINEL}"}
    job = (await bench.http.post("/v1/jobs", json=body, headers=headers)).json()
    async with bench.worker(logs):
        assert (await bench.in_state(job["id"], "failed"))["error"]["message"] == SENTINEL
    await bench.http.post("/v1/jobs", json={**body, "unknown": SENTINEL})
    await bench.http.post(
        "/v1/jobs", content=f'{{"kind": {SENTINEL}', headers={"content-type": "application/json"}
    )
    # What the HTTP client of this test itself says is not ours.
    ours = [line for line in lines(stream) if not line["logger"].startswith(("httpx", "httpcore"))]
    assert [line for line in ours if SENTINEL in json.dumps(line)] == []


def formatted(form: str, message: str, *arguments: Any, secrets: tuple[str, ...] = (), **more: Any) -> str:
    record = logging.makeLogRecord(
        {"name": "duetime.x", "levelno": 20, "levelname": "INFO", "msg": message, "args": arguments, **more}
    )
    JobFilter().filter(record)
    formatter = JsonFormatter(Veil(secrets)) if form == "json" else TextFormatter(Veil(secrets))
    return formatter.format(record)


def test_text_says_the_job_once() -> None:
    def speak() -> tuple[str, str]:
        speak_for("job-1", 2, "mail.send")
        told = {"job_id": "job-1", "attempt": 2}
        return formatted("text", "hello"), formatted("text", "[job-1 attempt 2] hello", **told)

    by_itself, by_job_log = copy_context().run(speak)
    assert by_itself.endswith("duetime.x: [job-1 attempt 2] hello")
    assert by_job_log.endswith("duetime.x: [job-1 attempt 2] hello")
    assert formatted("text", "hello").endswith("duetime.x: hello")


def test_json_is_one_line_whatever_is_in_it() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    text = formatted(
        "json",
        'a "quote"\nand %s',
        "\u2028 more",
        exc_info=info,
        rows=3,
        ratio=float("nan"),
        where=Path("/tmp"),
    )
    assert len(text.splitlines()) == 1 or "\n" not in text
    line = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert line["message"] == 'a "quote"\nand \u2028 more'
    assert line["rows"] == 3 and line["ratio"] == "nan" and line["where"] == "/tmp"
    assert line["stack"].endswith("ValueError: two\nlines")
    assert line["level"] == "INFO" and line["logger"] == "duetime.x" and line["time"].endswith("+00:00")


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_blotted_out_wherever_they_come_from(form: str) -> None:
    secrets = ("hunter2-long", "hunter2-long-and-longer", "tiny")
    text = formatted(
        form, "went to %s", "hunter2-long-and-longer", secrets=secrets, header="Bearer hunter2-long tiny"
    )
    assert "hunter2" not in text and "***" in text
    assert form == "text" or "tiny" in text  # too short to be told from a word


def test_the_settings_know_their_secrets() -> None:
    settings = Settings.model_validate(
        {
            "ledger_url": "postgresql+psycopg://me:pa55-w0rd@db/ledger",
            "webhook_secrets": "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=,whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0",
        }
    )
    assert set(settings.secrets) == {
        "postgresql+psycopg://me:pa55-w0rd@db/ledger",
        "pa55-w0rd",
        "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=",
        "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0",
    }


def test_a_process_logs_as_the_settings_say(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers = list(root.handlers)
    root.handlers.clear()
    try:
        with levels():
            set_up_logs("info", "json", ["s3cr3t-value"])
            logging.getLogger("duetime.y").info("the s3cr3t-value")
        written = capsys.readouterr().err
    finally:
        root.handlers[:] = handlers
    assert json.loads(written)["message"] == "the ***"
