"""What is known of a kind: announced by workers when they start, kept on the Temporal server."""

import hashlib
from typing import Any

from pydantic import Field

from duetime.contracts.record import Part

#: The workflow type of an entry of the registry, and the memo key of what it says.
KIND_ENTRY = "Kind"
KIND_MEMO = "kind"


class KindEntry(Part):
    """One kind as served on one queue. `defaults` are fields of a submission, as on the wire."""

    kind: str
    queue: str
    description: str = ""
    payload_schema: dict[str, Any] | None = None
    defaults: dict[str, Any] = Field(default_factory=dict)

    @property
    def entry_id(self) -> str:
        """The id of its workflow; short enough for a store with 255 characters, whatever the names."""
        digest = hashlib.sha256(f"{self.kind}\n{self.queue}".encode()).hexdigest()[:16]
        return f"duetime~kind~{self.kind}~{digest}"
