"""The kind `command`: runs one command for a job and ends the job by how it ended."""

import os
from collections.abc import Mapping
from datetime import timedelta

from activities.command.channel import Order
from activities.command.environment import command_environment
from activities.command.request import CommandRequest
from activities.command.supervised import Supervised
from activities.command.verdict import CommandFailed, conclude
from activities.context import JobContext
from activities.text import KEPT_BYTES


class CommandKind:
    """Holds what all commands of a worker share; `run` is the handler.

    Whoever may submit jobs can do with it whatever the worker's user can do: a worker registers it only when
    it was started with `--allow-commands`.
    """

    def __init__(
        self,
        *,
        linger: timedelta = timedelta(seconds=1),
        grace: timedelta = timedelta(seconds=3),
        shell: str = "/bin/sh",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`linger` is how long what a command leaves in the background may go on before it is ended, `grace`
        lies between SIGTERM and SIGKILL, `environment` is the worker's, of which little is passed on.
        """
        if os.name != "posix":
            raise OSError("commands need a POSIX system: processes are ended by signals to their group")
        self._linger, self._grace, self._shell = linger, grace, shell
        self._environment = os.environ if environment is None else environment

    async def run(self, request: CommandRequest, job: JobContext) -> dict[str, object]:
        """The result (see `verdict.conclude`), or `CommandFailed`.

        When it returns or raises, cancelled or not, no process of the command is left.
        """
        env = command_environment(self._environment, request.env, job)
        order = Order(
            argv=request.argv or [self._shell, "-c", "--", request.shell or ""],
            env=env,
            cwd=request.cwd or env["HOME"],
            stdin=request.stdin,
            linger=self._linger.total_seconds(),
            grace=self._grace.total_seconds(),
            kept=KEPT_BYTES,
        )
        try:
            supervised = await Supervised.start(order)
        except OSError as error:
            raise CommandFailed(f"could not be started: {error}") from error
        return conclude(request, *await supervised.outcome())
