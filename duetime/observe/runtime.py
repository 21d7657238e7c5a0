"""The SDK's runtime of a worker process: signs of life every two seconds, and metrics where Prometheus finds them.

A runtime belongs to a client from its making on, so this comes before the first connection:

>>> set_up_runtime(metrics="127.0.0.1:9100")  # doctest: +SKIP
>>> client = await connect("localhost:7233")  # doctest: +SKIP
"""

from datetime import timedelta
from typing import Any

from temporalio.plugin import SimplePlugin
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from duetime.observe.names import BUCKETS

#: How often a worker tells the server that it lives, and how busy it is. The SDK's own default is a minute.
SIGN_OF_LIFE = timedelta(seconds=2)
#: A worker's first sign does not tell how often there will be one: the name of a plugin does, which goes along with it.
#: Its polls, which come before that, tell it by their build id.
OFTEN = "duetime.signs-of-life-every-2s"
_set_up = False


class RuntimeFault(RuntimeError):
    """The runtime cannot be had as asked for; the text says why."""


def set_up_runtime(*, metrics: str | None = None) -> None:
    """Makes the runtime of all clients that this process connects from now on.

    `metrics`, an `address:port`, is where `GET /metrics` then answers in the text format of Prometheus: with our
    metrics of attempts, and with those of the SDK (https://docs.temporal.io/references/sdk-metrics).

    Raises `RuntimeFault` when that address is taken, or when the process has connected before.
    """
    try:
        runtime = Runtime(
            telemetry=TelemetryConfig(
                metrics=prometheus(metrics) if metrics else None, attach_service_name=False
            ),
            worker_heartbeat_interval=SIGN_OF_LIFE,
        )
    except ValueError as error:
        raise RuntimeFault(f"metrics cannot be shown on {metrics}: {error}") from None
    try:
        Runtime.set_default(runtime)
    except RuntimeError as error:
        raise RuntimeFault(f"set up the runtime before the first connection: {error}") from None
    global _set_up
    _set_up = True


def promises() -> dict[str, Any]:
    """What workers of this process say of their signs of life, as options of `temporalio.worker.Worker`."""
    return {"plugins": [SimplePlugin(OFTEN)], "build_id": OFTEN} if _set_up else {"plugins": []}


def prometheus(address: str) -> PrometheusConfig:
    """Metrics as `docs/metrics.md` names them, for a runtime that is put together elsewhere."""
    return PrometheusConfig(
        address,
        counters_total_suffix=True,
        unit_suffix=True,
        durations_as_seconds=True,
        histogram_bucket_overrides=BUCKETS,
    )
