"""The real Temporal server as a child process of ours: started, waited for, prepared, and stopped.

    async with EmbeddedEngine(EngineConfig(data_dir=Path(".duetime"))) as engine:
        client = await engine.client()

It is the dev server of the Temporal CLI: one process, one SQLite file, every socket on 127.0.0.1, no
passwords. Fit for development, tests and small single-machine services that accept that; `docs/running.md`
says what it is not.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Self

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from duetime.engine.binary import EngineVersion, find_binary, read_version
from duetime.engine.child import Child, describe_exit
from duetime.engine.command import server_command, server_environment
from duetime.engine.data import DataDir
from duetime.engine.errors import EngineError, EngineFailed
from duetime.engine.logs import readable
from duetime.engine.namespace import prepare_namespace
from duetime.engine.ports import LOOPBACK, free_port, require_free

#: The dev server's own default of a day would forget finished jobs, and their idempotency keys, overnight.
RETENTION = timedelta(days=7)

_log = logging.getLogger("duetime.engine")
_ADDRESS_IN_USE = "address already in use"


@dataclass(frozen=True)
class EngineConfig:
    """How to run an embedded engine. The defaults: thrown away after use, in memory, on ports it chooses."""

    #: Where its data lives; `None` keeps all in memory, and loses all at the end.
    data_dir: Path | None = None
    #: Ports on 127.0.0.1; 0 chooses one, a `ui_port` of `None` runs no Web UI.
    port: int = 0
    ui_port: int | None = 0
    namespace: str = "default"
    #: The `temporal` program; `None` looks beside this Python, then on the PATH.
    binary: Path | None = None
    log_level: Literal["debug", "info", "warn", "error"] = "warn"
    #: Called from a thread with each line it logs.
    on_log: Callable[[str], None] = _log.info
    #: More of the server's dynamic configuration, as JSON values.
    dynamic_config: Mapping[str, str] = field(default_factory=dict)
    #: Seconds until it must answer, and from the request to stop until it is killed.
    ready_timeout: float = 60.0
    stop_grace: float = 15.0


class EmbeddedEngine:
    """One embedded server, stopped or running. Not for use by two tasks at once.

    Start it from the main thread, or one that outlives it: on Linux it dies with the thread that started it.
    """

    def __init__(self, config: EngineConfig | None = None) -> None:
        self.config = config or EngineConfig()
        self._data = DataDir(self.config.data_dir.absolute()) if self.config.data_dir else None
        self._port = self.config.port
        self._ui_port = self.config.ui_port
        self._was_up = False
        self._child: Child | None = None
        self._held = contextlib.ExitStack()  # The lock on the data, while we have it.

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def address(self) -> str:
        """`host:port` of its gRPC frontend. Chosen at the first start and kept for later ones."""
        return f"{LOOPBACK}:{self._port}"

    @property
    def ui_url(self) -> str | None:
        """Where its Web UI is."""
        return None if self._ui_port is None else f"http://{LOOPBACK}:{self._ui_port}"

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._running.pid

    async def client(self, **options: Any) -> Client:
        """A new client of this engine; `options` are those of `temporalio.client.Client.connect`."""
        return await Client.connect(self.address, **{"namespace": self.config.namespace, **options})

    async def start(self) -> None:
        """Bring it up, ready for jobs; again after `stop` or `kill`, on the same data and ports.

        Raises a subclass of `EngineError`, after which nothing runs.
        """
        if self._child is not None:
            raise EngineError("this engine has been started already")
        binary = find_binary(self.config.binary)
        try:
            version, lock = await self._take_data(binary)
            await self._come_up(binary, lock)
            await prepare_namespace(await self.client(), retention=RETENTION)
        except BaseException:
            await self.kill()
            raise
        if self._data is not None and version is not None:
            self._data.mark_ready(version)

    async def wait(self) -> int:
        """Until it ends by itself: its exit code."""
        return await self._running.wait()

    async def stop(self) -> None:
        """End it in an orderly way, or by force after the grace. Nothing to do when it does not run."""
        if self._child is not None:
            # What is in memory is lost anyway: no reason to wait a second for its goodbye.
            await self._child.stop(self.config.stop_grace if self._data else 0)
        self._let_go()

    async def kill(self) -> None:
        """End it as a crash of the machine would (SIGKILL), for tests of what survives."""
        if self._child is not None:
            await self._child.kill()
        self._let_go()

    @property
    def last_words(self) -> list[str]:
        """The last lines it logged."""
        return self._child.last_words if self._child else []

    @property
    def _running(self) -> Child:
        if self._child is None:
            raise EngineError("this engine has not been started")
        return self._child

    def _let_go(self) -> None:
        self._child = None
        self._held.close()

    async def _take_data(self, binary: Path) -> tuple[EngineVersion | None, int | None]:
        if self._data is None:
            return None, None
        asking = asyncio.ensure_future(asyncio.to_thread(read_version, binary))
        try:
            version = await asyncio.shield(asking)
        except asyncio.CancelledError:
            await asyncio.wait([asking])  # the program it runs must not outlive us
            raise
        try:
            self._data.create()
            lock = self._held.enter_context(self._data.locked())
            self._data.admit(version)
        except OSError as error:
            raise EngineError(
                f"the data directory {self._data.path} cannot be used ({error.strerror}): "
                "set DUETIME_DATA_DIR to another"
            ) from None
        return version, lock

    async def _come_up(self, binary: Path, lock: int | None) -> None:
        """Start the process until it answers. A port that was free can be snatched meanwhile: try again."""
        for attempt in (1, 2, 3):
            self._choose_ports()
            self._child = child = self._spawn(binary, lock)
            try:
                await self._answer(child)
            except EngineFailed:
                await child.kill()
                snatched = any(_ADDRESS_IN_USE in line for line in child.last_words)
                if attempt == 3 or not snatched:
                    raise
                if not self._was_up:  # nobody was told these ports yet
                    self._port, self._ui_port = self.config.port, self.config.ui_port
            else:
                self._was_up = True
                if self._data is not None and lock is not None:
                    self._data.note_holder(lock, f"pid {os.getpid()}, its server is pid {child.pid}")
                return

    def _choose_ports(self) -> None:
        if self._port == 0:
            self._port = free_port(self._ui_port)
        elif self.config.port:
            require_free(self._port, "the Temporal server", "set DUETIME_TEMPORAL_PORT to another")
        if self._ui_port == 0:
            self._ui_port = free_port(self._port)
        elif self.config.ui_port:
            require_free(self.config.ui_port, "the Temporal Web UI", "set DUETIME_UI_PORT to another")

    def _spawn(self, binary: Path, lock: int | None) -> Child:
        command = server_command(
            binary,
            port=self._port,
            ui_port=self._ui_port,
            database=self._data.database if self._data else None,
            namespace=self.config.namespace,
            log_level=self.config.log_level,
            dynamic_config=self.config.dynamic_config,
        )
        return Child(
            "temporal",
            command,
            env=server_environment(os.environ),
            on_line=self.config.on_log,
            readable=readable,
            keep_open=() if lock is None else (lock,),
            umask=0o077,  # Payloads of jobs are in its files.
            errors_only=True,  # Its logs and errors; the rest is a welcome that is not ours.
        )

    async def _answer(self, child: Child) -> None:
        """Wait until a real call is answered, or say why it never will be."""
        answered = asyncio.ensure_future(self._until_answered())
        ended = asyncio.ensure_future(child.wait())
        try:
            # Both at once: somebody else on its port may take the call and never answer.
            await asyncio.wait(
                {answered, ended}, timeout=self.config.ready_timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not child.running:  # Whoever answered was not ours.
                raise EngineFailed(self._report(f"ended at its start ({describe_exit(await ended)})"))
            if not answered.done():
                raise EngineFailed(self._report(f"did not answer within {self.config.ready_timeout:.0f} s"))
            await answered
        finally:
            for task in (answered, ended):
                task.cancel()
            await asyncio.gather(answered, ended, return_exceptions=True)

    async def _until_answered(self) -> None:
        request = DescribeNamespaceRequest(namespace=self.config.namespace)
        while True:
            with contextlib.suppress(RPCError, RuntimeError):
                client = await self.client()
                await client.workflow_service.describe_namespace(request)
                return
            await asyncio.sleep(0.05)

    def _report(self, what: str) -> str:
        return "\n".join([f"the Temporal server {what}; its last lines:", *self.last_words[-10:]])
