"""Several programs run as one: started in order, watched, and stopped in the opposite order.

The first that ends uninvited ends all: half a service that looks alive is worse than none.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from duetime.engine.child import Child, describe_exit
from duetime.engine.errors import EngineError
from duetime.engine.server import EmbeddedEngine

#: What an orderly stop may still take when another part has failed: it may be waiting for that part.
_GRACE_AFTER_FAILURE = 5.0
_QUOTED_LINES = 5


class ProgramFailed(EngineError):
    """A part ended uninvited or was not ready in time; the message ends with its last words."""


@dataclass(frozen=True)
class Program:
    """A program to run: its command, how to tell that it is ready, and the seconds its goodbye may take."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    ready: Callable[[], Awaitable[bool]]
    grace: float = 10.0


@dataclass(frozen=True)
class _Part:
    name: str
    wait: Callable[[], Awaitable[int]]
    stop: Callable[[float], Awaitable[object]]
    kill: Callable[[], Awaitable[object]]
    last_words: Callable[[], list[str]]
    grace: float


@dataclass
class Supervisor:
    """The parts that run now. `on_line` gets the name of a part and a line of it, from a thread."""

    on_line: Callable[[str, str], None]
    #: Set to make `stop` kill instead of wait.
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    _parts: list[_Part] = field(default_factory=list)

    async def start_engine(self, engine: EmbeddedEngine) -> None:
        """Start `engine` and watch it with the others."""
        await engine.start()
        self._parts.append(
            _Part(
                "temporal",
                engine.wait,
                lambda grace: engine.stop(),
                engine.kill,
                lambda: engine.last_words,
                engine.config.stop_grace,
            )
        )

    def start(self, program: Program) -> Child:
        """Start `program`; whether it is ready tells `until_ready`."""
        child = Child(
            program.name,
            program.argv,
            env=program.env,
            on_line=lambda line: self.on_line(program.name, line),
        )
        self._parts.append(
            _Part(program.name, child.wait, child.stop, child.kill, lambda: child.last_words, program.grace)
        )
        return child

    async def until_ready(self, programs: Sequence[Program], within: float) -> None:
        """Wait until all of `programs`, started before, are ready; `within` so many seconds they must."""
        deadline = time.monotonic() + within
        watch = asyncio.create_task(self.until_one_ends())
        try:
            for program in programs:
                while not await program.ready():
                    if watch.done():
                        await watch
                    if time.monotonic() > deadline:
                        raise ProgramFailed(self._quote(program.name, f"is not ready after {within:.0f} s"))
                    await asyncio.wait([watch], timeout=0.1)
        finally:
            watch.cancel()

    async def until_one_ends(self) -> None:
        """Watch all parts until one ends; which one and how is in the `ProgramFailed` that follows."""
        waiting = {asyncio.ensure_future(part.wait()): part for part in self._parts}
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        # Of several that ended in one moment, the first started is the likelier cause.
        part, code = next((part, task.result()) for task, part in waiting.items() if task in done)
        raise ProgramFailed(self._quote(part.name, f"ended ({describe_exit(code)})"))

    async def stop(self, *, failed: bool = False) -> None:
        """Stop all parts, the last started first, each within its grace; at once when `hurry` is set."""
        while self._parts:
            part = self._parts[-1]
            grace = min(part.grace, _GRACE_AFTER_FAILURE) if failed else part.grace
            await self._stop_part(part, grace)
            self._parts.pop()

    async def _stop_part(self, part: _Part, grace: float) -> None:
        stopping = asyncio.ensure_future(part.stop(grace))
        hurried = asyncio.ensure_future(self.hurry.wait())
        try:
            await asyncio.wait([stopping, hurried], return_when=asyncio.FIRST_COMPLETED)
            if not stopping.done():
                stopping.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await stopping
                await part.kill()
        finally:
            hurried.cancel()

    def _quote(self, name: str, what: str) -> str:
        words = next(part.last_words() for part in self._parts if part.name == name)[-_QUOTED_LINES:]
        return "\n    ".join([f"{name} {what}" + ("; its last lines:" if words else ""), *words])
