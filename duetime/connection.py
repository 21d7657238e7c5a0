"""Connecting to Temporal: one way for the API, workers, clients and tests."""

import os
import socket

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter


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
