"""What is known of a kind: announced by workers when they start, kept on the Temporal server."""

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import Field

from duetime.contracts.job import JobSpec, Retry
from duetime.contracts.record import Part

Spec = TypeVar("Spec", bound=JobSpec)

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


class ServedOn(Part):
    """A kind on one queue: JSON Schema of its payload, and what a job has when its submission does not say."""

    queue: str
    payload_schema: dict[str, Any] | None
    defaults: dict[str, Any]


class KindView(Part):
    """A kind and the queues it was announced on."""

    kind: str
    description: str
    queues: list[ServedOn]


class KindList(Part):
    """All known kinds, by name."""

    kinds: list[KindView]


def with_defaults(job: Spec, defaults: Mapping[str, Any]) -> Spec:
    """`job` with the kind's defaults where the submission said nothing; `retry` is filled field by field."""
    missing = {name: value for name, value in defaults.items() if name not in job.model_fields_set}
    if "retry" in defaults:
        said = {name: getattr(job.retry, name) for name in job.retry.model_fields_set}
        base = Retry.model_validate(defaults["retry"])
        missing["retry"] = base.model_copy(update=said)
    if not missing:
        return job
    parsed = JobSpec.model_validate({"kind": job.kind, **missing})
    return job.model_copy(update={name: getattr(parsed, name) for name in missing})
