"""The jobs that one job comes after, and what their ends mean for it: pure, for whoever carries jobs out."""

from collections.abc import Iterable

from duetime.contracts.record import Error
from duetime.contracts.states import ErrorType, State


class Predecessors:
    """The jobs that one job waits for, and what is known of them."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._states: dict[str, State | None] = dict.fromkeys(ids)
        self._unknown: set[str] = set()

    def learn(self, states: dict[str, State], unknown: Iterable[str] = ()) -> None:
        """Takes down final states; what is known already stays. `unknown` are those that nobody has: they count as
        failed."""
        self._unknown |= {job_id for job_id in unknown if self._states.get(job_id, "") is None}
        for job_id, state in states.items():
            if job_id in self._states and self._states[job_id] is None:
                self._states[job_id] = state

    @property
    def remaining(self) -> list[str]:
        return [job_id for job_id, state in self._states.items() if state is None]

    @property
    def settled(self) -> bool:
        """Whether the job need not wait: all have succeeded, or one has not."""
        return not self.remaining or self.fault() is not None

    def fault(self) -> Error | None:
        """Why the job cannot run."""
        for job_id, state in self._states.items():
            if state not in (None, State.SUCCEEDED):
                how = "is not known (any more)" if job_id in self._unknown else f"ended {state}"
                message = f"the job {job_id!r}, which this one comes after, {how}"
                return Error(type=ErrorType.DEPENDENCY_FAILED, message=message)
        return None
