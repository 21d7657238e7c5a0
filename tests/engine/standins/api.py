"""An API instance that can misbehave, in place of the real one: `python api.py [crash]`."""

import asyncio
import signal
import sys

from duetime.process import run_main
from duetime.settings import load_settings


async def main() -> int:
    if "crash" in sys.argv:
        print("cannot bind")
        return 4
    settings = load_settings()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with await asyncio.start_server(_answer, settings.api_host, settings.api_port):
        await stop.wait()
        print("api says goodbye", flush=True)
    return 0


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    path = (await reader.readline()).split()[1]
    status = b"200 OK" if path == b"/readyz" else b"404 Not Found"
    writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()
    writer.close()


if __name__ == "__main__":
    run_main(main)
