"""Connecting to Temporal: one way for the API, workers, clients and tests."""

import asyncio
import logging
import os
import socket
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import TLSConfig

from duetime.diagnosis import why_not
from duetime.target import Target, Tls

log = logging.getLogger("duetime.connection")


def worker_identity() -> str:
    """Who this process is, as attempts and the Temporal Web UI show it: `<pid>@<host>`."""
    return f"{os.getpid()}@{socket.gethostname()}"


async def connect(target: Target | str, namespace: str = "default", *, lazy: bool = False) -> Client:
    """A client of the Temporal frontend at `target`, or at an address `host:port` without TLS.

    Raises `RuntimeError` when it cannot be reached, unless `lazy`: what went wrong, and what to set.
    """
    target = Target(target, namespace) if isinstance(target, str) else target
    tls = _tls_config(target.tls) if target.tls else False
    try:
        return await Client.connect(
            target.address,
            namespace=target.namespace,
            api_key=target.api_key,
            tls=tls,
            data_converter=pydantic_data_converter,
            identity=worker_identity(),
            lazy=lazy,
        )
    except RuntimeError as error:
        raise RuntimeError(await why_not(target) or str(error)) from error


async def connect_patiently(target: Target | str, namespace: str = "default") -> Client:
    """`connect`, tried until it succeeds: a worker that starts before the server waits for it."""
    address = target if isinstance(target, str) else target.address
    wait = 0.5
    while True:
        try:
            return await connect(target, namespace)
        except RuntimeError as error:
            log.warning("Temporal at %s does not answer, trying again in %.1f s: %s", address, wait, error)
            await asyncio.sleep(wait)
            wait = min(wait * 2, 15.0)


async def say_why_not(client: Client, target: Target) -> None:
    """Logs what stands between a lazy client and the server, if anything does."""
    try:
        await client.service_client.check_health()
    except RuntimeError as error:
        log.warning("Temporal at %s does not answer: %s", target.address, await why_not(target) or error)


def _tls_config(tls: Tls) -> TLSConfig:
    return TLSConfig(
        server_root_ca_cert=_read(tls.ca),
        domain=tls.server_name,
        client_cert=_read(tls.cert),
        client_private_key=_read(tls.key),
    )


def _read(path: Path | None) -> bytes | None:
    try:
        return path.read_bytes() if path else None
    except OSError as error:
        raise RuntimeError(f"{path} cannot be read: {error.strerror}") from None
