"""Small readers of Temporal's protocol messages."""

from datetime import UTC, datetime
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.client import Client


def instant(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)


def when(message: Message, name: str) -> datetime | None:
    """The instant in a field of `message`; `None` when it is not set."""
    if not message.HasField(name):
        return None
    found = instant(getattr(message, name))
    return found if found.timestamp() > 0 else None


async def decode(client: Client, payload: Payload) -> Any:
    """The JSON value in `payload`; text telling its encoding when it is not JSON."""
    try:
        return (await client.data_converter.decode([payload]))[0]
    except Exception:
        return f"({payload.metadata.get('encoding', b'?').decode('ascii', 'replace')}, {len(payload.data)} bytes)"


async def decode_all(client: Client, payloads: Payloads) -> list[Any]:
    return [await decode(client, payload) for payload in payloads.payloads]
