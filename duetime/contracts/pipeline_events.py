"""What listeners are told of a pipeline: Server-Sent Events, as `events` has them for a job."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from duetime.contracts.pipeline_view import PipelineView, progress_of
from duetime.contracts.states import FINAL


@dataclass(frozen=True)
class PipelineMoment:
    """A pipeline as it was read."""

    pipeline: PipelineView

    @property
    def is_final(self) -> bool:
        return self.pipeline.state in FINAL

    @cached_property
    def id(self) -> str:
        """The same for moments between which no job, and no item of one, has moved."""
        pipeline = self.pipeline
        jobs = [
            [name, job.state, job.items.model_dump() if job.items else None]
            for name, job in pipeline.jobs.items()
        ]
        told = json.dumps([pipeline.run_id, pipeline.state, jobs])
        return hashlib.sha256(told.encode()).hexdigest()[:24]

    def since(self, seen: str | None) -> bytes | None:
        """The event for whoever saw the event `seen` last; `None` when there is no news."""
        if seen == self.id:
            return None
        name = "done" if self.is_final else "state"
        told = self.pipeline if self.is_final else progress_of(self.pipeline)
        data = json.dumps(told.model_dump(mode="json"), separators=(",", ":"))
        return f"id: {self.id}\nevent: {name}\ndata: {data}\n\n".encode()
