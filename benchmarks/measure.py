"""Taking measurements: processor time of processes, percentiles."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

import psutil


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children so far."""
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return sum(member.cpu_times().user + member.cpu_times().system for member in family)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass
class Round:
    """One batch of jobs in one way: seconds, and processor seconds per job by process."""

    jobs: int
    seconds: float
    submit: list[float]
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds


@dataclass
class Series:
    """All rounds of one way."""

    name: str
    rounds: list[Round] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return median(taken.rate for taken in self.rounds)

    def beside(self, yardstick: "Series") -> tuple[float, float, float]:
        """The lower quartile, median and upper quartile of the rates as shares of the yardstick's in the same round."""
        shares = [mine.rate / its.rate for mine, its in zip(self.rounds, yardstick.rounds, strict=True)]
        low, middle, high = quantiles(shares, n=4, method="inclusive")
        return low, middle, high

    def cpu(self, process: str) -> float:
        """Milliseconds a job."""
        return median(taken.cpu.get(process, 0.0) / taken.jobs * 1000 for taken in self.rounds)

    def submit(self, share: float) -> float:
        """Milliseconds."""
        return percentile([value for taken in self.rounds for value in taken.submit], share) * 1000
