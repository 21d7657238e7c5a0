"""Where the jobs of a graph go: a column for each, and an order within it in which few edges cross.

The method of Sugiyama, Tagawa and Toda (https://doi.org/10.1109/TSMC.1981.4308636): the column of a job is one after
the last of those it needs; an edge over several columns gets a bend in each of them, so that it has room of its own;
then columns are sorted by the mean place of their neighbours, from left to right and back, and the best order is kept.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import pairwise

_SWEEPS = 8
#: Bends beyond this are left out: long edges then run behind other jobs, and the picture stays quick to make.
_BENDS = 4_000
#: Edges that are drawn; a picture of more shows nothing, and takes ever longer to make.
EDGES = 10_000


@dataclass
class Item:
    """A job in its column, or the bend of an edge (then `name` is `None`)."""

    name: str | None
    column: int
    before: list["Item"] = field(default_factory=list)
    after: list["Item"] = field(default_factory=list)
    #: Its place in the column.
    place: int = 0


@dataclass(frozen=True)
class Layers:
    """The columns from left to right, and for each edge that is drawn the items it passes, both ends included."""

    columns: list[list[Item]]
    routes: dict[tuple[str, str], list[Item]]


def layers(needs: Mapping[str, Sequence[str]]) -> Layers:
    """The columns of a graph without cycles. `needs` names for each job those before it, all of them in `needs`."""
    column: dict[str, int] = {}
    for name in TopologicalSorter(needs).static_order():
        column[name] = 1 + max((column[needed] for needed in needs[name]), default=-1)
    columns: list[list[Item]] = [[] for _ in range(1 + max(column.values(), default=-1))]
    items = {name: Item(name, column[name]) for name in needs}
    for item in items.values():
        columns[item.column].append(item)
    edges = [(needed, name) for name in needs for needed in dict.fromkeys(needs[name])][:EDGES]
    bent = sum(column[name] - column[needed] - 1 for needed, name in edges) <= _BENDS
    routes = {}
    for needed, name in edges:
        route = [items[needed]]
        if bent:
            for at in range(column[needed] + 1, column[name]):
                bend = Item(None, at)
                columns[at].append(bend)
                route.append(bend)
        route.append(items[name])
        for left, right in pairwise(route):
            left.after.append(right)
            right.before.append(left)
        routes[needed, name] = route
    _order(columns)
    return Layers(columns, routes)


def _order(columns: list[list[Item]]) -> None:
    """Sorts each column so that few edges cross."""
    _number(columns)
    best, fewest = [list(column) for column in columns], crossings(columns)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            column.sort(key=lambda item: _mean(item.before if forward else item.after, item))
            _number([column])
        if (found := crossings(columns)) < fewest:
            best, fewest = [list(column) for column in columns], found
    columns[:] = best
    _number(columns)


def _number(columns: Sequence[Sequence[Item]]) -> None:
    for column in columns:
        for place, item in enumerate(column):
            item.place = place


def _mean(neighbours: Sequence[Item], item: Item) -> float:
    """Where the item would like to be; one without neighbours stays where it is."""
    return sum(each.place for each in neighbours) / len(neighbours) if neighbours else item.place


def crossings(columns: Sequence[Sequence[Item]]) -> int:
    """How many pairs of edges between neighbouring columns cross."""
    found = 0
    for column in columns:
        ends: list[int] = []
        for item in column:
            targets = [after.place for after in item.after if after.column == item.column + 1]
            found += sum(len(ends) - bisect_right(ends, place) for place in targets)
            for place in targets:
                insort(ends, place)
    return found
