"""Small readers of Temporal's protocol messages."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.client import Client

from duetime.contracts.json_value import readable

log = logging.getLogger("duetime.api")


def instant(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)


def when(message: Message, name: str) -> datetime | None:
    """The instant in a field of `message`; `None` when it is not set."""
    if not message.HasField(name):
        return None
    found = instant(getattr(message, name))
    return found if found.timestamp() > 0 else None


async def decode(client: Client, payload: Payload) -> Any:
    """The JSON value in `payload`, fit to be answered; text telling its encoding when it is not JSON."""
    codec = client.data_converter.payload_codec
    try:
        if codec is not None:
            (payload,) = await codec.decode([payload])
        encoding = payload.metadata["encoding"]
        if encoding == b"binary/null":
            return None
        if encoding.startswith(b"json/"):
            return readable(json.loads(payload.data))
    except Exception:
        log.debug("a payload cannot be read", exc_info=True)
    return f"({payload.metadata.get('encoding', b'?').decode('ascii', 'replace')}, {len(payload.data)} bytes)"


async def decode_all(client: Client, payloads: Payloads) -> list[Any]:
    return [await decode(client, payload) for payload in payloads.payloads]
