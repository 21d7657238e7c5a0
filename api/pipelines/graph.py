"""A pipeline as a graph to be drawn: jobs, what each needs, and how they stand."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Node:
    """One job. `note` is a word on how far it is, such as `37 of 120`."""

    name: str
    kind: str
    state: str
    needs: tuple[str, ...] = ()
    when: str = "all_succeeded"
    note: str = ""


@dataclass(frozen=True)
class Graph:
    """All jobs of a pipeline. `path` names those on the critical path, in order."""

    id: str
    state: str
    nodes: tuple[Node, ...]
    path: tuple[str, ...] = ()

    @property
    def edges(self) -> Iterator[tuple[str, str]]:
        """`(needed, job)` for each dependency, those of one job in the order in which they are named."""
        for node in self.nodes:
            for needed in node.needs:
                yield needed, node.name

    @property
    def steps(self) -> set[tuple[str, str]]:
        """The edges that are steps of the critical path."""
        return set(pairwise(self.path))
