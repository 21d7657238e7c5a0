"""Connecting to Temporal: one way for the API, workers, clients and tests."""

import asyncio
import logging
import os
import socket

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

log = logging.getLogger("duetime.connection")


def worker_identity() -> str:
    """Who this process is, as attempts and the Temporal Web UI show it: `<pid>@<host>`."""
    return f"{os.getpid()}@{socket.gethostname()}"


async def connect(address: str, namespace: str = "default", *, lazy: bool = False) -> Client:
    """A client of the Temporal frontend at `address` (`host:port`).

    Raises `RuntimeError` when it cannot be reached, unless `lazy`.
    """
    return await Client.connect(
        address,
        namespace=namespace,
        data_converter=pydantic_data_converter,
        identity=worker_identity(),
        lazy=lazy,
    )


async def connect_patiently(address: str, namespace: str = "default") -> Client:
    """`connect`, tried until it succeeds: a worker that starts before the server waits for it."""
    wait = 0.5
    while True:
        try:
            return await connect(address, namespace)
        except RuntimeError as error:
            log.warning("Temporal at %s does not answer, trying again in %.1f s: %s", address, wait, error)
            await asyncio.sleep(wait)
            wait = min(wait * 2, 15.0)
