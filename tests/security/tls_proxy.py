"""TLS before a server that speaks none, as a cluster's frontend has it."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

from tests.security.certificates import Certificate


@contextlib.asynccontextmanager
async def tls_before(
    upstream: str, certificate: Certificate, clients: Path | None = None, seen: bytearray | None = None
) -> AsyncIterator[str]:
    """Ends TLS and hands the bytes on to `upstream`; the address to call.

    With `clients`, the client must show a certificate of that authority. What clients say is added to `seen`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.cert, certificate.key)
    context.set_alpn_protocols(["h2"])
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    host, _, port = upstream.rpartition(":")
    running: set[asyncio.Task[None]] = set()

    async def pump(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: bytearray | None
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if heard is not None:
                    heard += data
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        inner, outer = await asyncio.open_connection(host, int(port))
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(pump(reader, outer, seen), pump(inner, writer, None))
        for end in (outer, writer):
            end.transport.abort()
        running.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
