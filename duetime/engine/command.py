"""The command that runs the embedded server: what we ask of it, and why."""

from collections.abc import Mapping
from pathlib import Path

from duetime.engine.ports import LOOPBACK

#: Beside a WAL the server commits about twice as fast as with the default journal, and FULL keeps what was
#: acknowledged through a loss of power (https://www.sqlite.org/pragma.html#pragma_synchronous).
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL")

#: Fairness keys are only looked at with the first, and priority and fairness are only exact when a queue is
#: one partition. One partition also costs less here, where one process would serve all four.
_DYNAMIC_CONFIG = {
    "matching.enableFairness": "true",
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
}

#: What the dev server would do otherwise: read the search attributes and the namespace from its database with each step
#: of each workflow, a dozen times for a job and a tenth of its work. So it has both in memory, as fresh as it is told
#: to keep the namespace: what is registered at the first start can be used that soon. A cluster does so by itself.
DEV_SERVER_ALONE = {
    "system.forceSearchAttributesCacheRefreshOnRead": "false",
    "system.namespaceCacheRefreshInterval": '"250ms"',
}

#: The server would otherwise ask its makers every day whether it is the newest.
_SILENT = {"TEMPORAL_VERSION_CHECK_DISABLED": "1"}
#: Of our own environment it gets nothing that it does not need: no settings, no secrets.
_INHERITED = ("TMPDIR", "GOMAXPROCS", "GOMEMLIMIT")


def server_command(
    binary: Path,
    *,
    port: int,
    ui_port: int | None,
    database: Path | None,
    namespace: str,
    log_level: str,
    dynamic_config: Mapping[str, str],
) -> list[str]:
    """The arguments of `temporal server start-dev`. `database` `None` is in memory, `ui_port` `None` no UI.

    `dynamic_config` adds to ours and wins; its values are JSON.
    """
    command = [str(binary), "server", "start-dev", "--ip", LOOPBACK, "--port", str(port)]
    command += ["--headless"] if ui_port is None else ["--ui-port", str(ui_port), "--ui-disable-news-fetch"]
    if database is not None:
        command += ["--db-filename", str(database)]
        command += [part for pragma in _PRAGMAS for part in ("--sqlite-pragma", pragma)]
    if namespace != "default":
        command += ["--namespace", namespace]
    for key, value in {**_DYNAMIC_CONFIG, **DEV_SERVER_ALONE, **dynamic_config}.items():
        command += ["--dynamic-config-value", f"{key}={value}"]
    # Saying "warn", the default, would unmute the warnings that every shutdown brings.
    command += [] if log_level == "warn" else ["--log-level", log_level]
    # A developer's own profile for the CLI is not for our server.
    return [*command, "--log-format", "json", "--disable-config-file", "--disable-config-env"]


def server_environment(ours: Mapping[str, str]) -> dict[str, str]:
    """The environment of the server, from that of this process."""
    return {**_SILENT, **{name: ours[name] for name in _INHERITED if name in ours}}
