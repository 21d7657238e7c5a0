"""Signatures after the Standard Webhooks specification (https://www.standardwebhooks.com), so that a receiver
can tell our calls from anybody else's with a library it already has.

The secret is the worker's. It is in no payload, no header, no log and no `repr`.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook


class Signer:
    """Signs with every secret it has: two while one is being replaced, and nothing when there is none."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        """`secrets` are base64, `whsec_` before them or not; `ValueError` says which one is not."""
        self._webhooks = tuple(_webhook(secret, number) for number, secret in enumerate(secrets, 1))

    def headers(self, message_id: str, now: datetime, body: str) -> dict[str, str]:
        """The fields of a message: its id is the same for every attempt, the time is that of this one."""
        if not self._webhooks:
            return {}
        # The library signs the wall clock of whatever zone it is given, so it is given UTC.
        utc = now.astimezone(UTC)
        return {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(utc.timestamp())),
            "webhook-signature": " ".join(webhook.sign(message_id, utc, body) for webhook in self._webhooks),
        }


def _webhook(secret: str, number: int) -> Webhook:
    text = secret.removeprefix("whsec_").rstrip("=")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not 24 <= len(key) <= 64:
        raise ValueError(
            f"webhook secret {number}: must be 24 to 64 bytes in base64, with or without whsec_ before them; "
            "`openssl rand -base64 32` makes one"
        )
    return Webhook(key)
