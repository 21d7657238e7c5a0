"""The proxy itself does what the tests with it rely on."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.proxy import Proxy, proxy_to
from tests.support.waiting import eventually


@pytest.fixture
async def echo() -> AsyncIterator[str]:
    """Answers each line with itself."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(writer)
        try:
            while line := await reader.readline():
                lines.append(line)
                writer.write(line)
        except OSError:
            pass
        finally:
            writer.close()

    heard: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    for writer in [*heard, *(talk.writer for talk in talks)]:
        writer.transport.abort()
    talks.clear()


lines: list[bytes] = []
talks: list["Talk"] = []


class Talk:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, proxy: Proxy) -> "Talk":
        host, port = proxy.address.split(":")
        talk = cls(*await asyncio.open_connection(host, int(port)))
        talks.append(talk)
        return talk

    def say(self, line: bytes) -> None:
        self.writer.write(line)

    async def hears(self, within: float = 30.0) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), within)


async def test_it_forwards(echo: str) -> None:
    async with proxy_to(echo) as proxy:
        talk = await Talk.to(proxy)
        talk.say(b"one\n")
        assert await talk.hears() == b"one\n"
        talk.writer.write_eof()
        assert await talk.hears() == b""


async def test_a_delay_is_on_each_way_and_keeps_the_order(echo: str) -> None:
    async with proxy_to(echo) as proxy:
        talk = await Talk.to(proxy)
        proxy.delay(0.15)
        begun = asyncio.get_running_loop().time()
        talk.say(b"one\n")
        talk.say(b"two\n")
        assert (await talk.hears(), await talk.hears()) == (b"one\n", b"two\n")
        assert asyncio.get_running_loop().time() - begun >= 0.3


async def test_behind_a_cut_nothing_is_heard_and_all_of_it_later(echo: str) -> None:
    async with proxy_to(echo) as proxy:
        talk = await Talk.to(proxy)
        talk.say(b"before\n")
        assert await talk.hears() == b"before\n"
        proxy.cut()
        late = await Talk.to(proxy)
        talk.say(b"held\n")
        late.say(b"late\n")
        with pytest.raises(TimeoutError):
            await talk.hears(within=0.2)
        assert b"held\n" not in lines
        assert b"late\n" not in lines
        proxy.heal()
        assert await talk.hears() == b"held\n"
        assert await late.hears() == b"late\n"


async def test_lost_answers_were_answers(echo: str) -> None:
    async with proxy_to(echo) as proxy:
        talk = await Talk.to(proxy)
        proxy.lose_answers()
        talk.say(b"asked\n")
        await eventually(lambda: b"asked\n" in lines)
        proxy.reset()
        proxy.heal()
        with pytest.raises(ConnectionError):
            await talk.hears()
        again = await Talk.to(proxy)
        again.say(b"again\n")
        assert await again.hears() == b"again\n"
