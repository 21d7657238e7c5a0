"""Many submissions in few calls."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from duetime.contracts import limits

#: Room for what surrounds the jobs in a body.
_FRAME = 1024


def chunks(bodies: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """`bodies` in their order, in lists that one call may carry: 1,000 jobs, 8 MiB."""
    chunk: list[dict[str, Any]] = []
    size = _FRAME
    for body in bodies:
        length = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()) + 1
        if chunk and (len(chunk) == limits.BATCH_JOBS or size + length > limits.BATCH_BYTES):
            yield chunk
            chunk, size = [], _FRAME
        chunk.append(body)
        size += length
    if chunk:
        yield chunk
