"""Coordinates: each item of a column as near as can be to the items it is joined with, none on top of another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.pipelines.layers import Item, Layers, layers

#: Pixels.
WIDTH, HEIGHT = 216, 56
GAP_X, GAP_Y = 72, 20
_BEND = 8
_SWEEPS = 6


@dataclass(frozen=True)
class Point:
    """A place on the picture."""

    x: float
    y: float


@dataclass(frozen=True)
class Layout:
    """The middle of the left side of each job, the points that each edge passes, and the size of the whole."""

    jobs: dict[str, Point]
    edges: dict[tuple[str, str], list[Point]]
    width: float
    height: float


def lay_out(needs: Mapping[str, Sequence[str]]) -> Layout:
    """A layout of a graph without cycles; see `layers`."""
    found = layers(needs)
    middle = _middles(found)
    top = min((middle[id(item)] - _room(item) / 2 for column in found.columns for item in column), default=0)
    bottom = max(
        (middle[id(item)] + _room(item) / 2 for column in found.columns for item in column), default=0
    )

    def left(item: Item) -> Point:
        return Point(item.column * (WIDTH + GAP_X), round(middle[id(item)] - top, 1))

    jobs = {item.name: left(item) for column in found.columns for item in column if item.name is not None}
    edges = {edge: [left(item) for item in route] for edge, route in found.routes.items()}
    width = len(found.columns) * (WIDTH + GAP_X) - GAP_X
    return Layout(jobs, edges, max(width, 0), bottom - top)


def _room(item: Item) -> float:
    return HEIGHT if item.name is not None else _BEND


def _middles(found: Layers) -> dict[int, float]:
    """The height of each item's middle, by its identity."""
    middle: dict[int, float] = {}
    for column in found.columns:
        for item, offset in zip(column, _offsets(column), strict=True):
            middle[id(item)] = offset
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for column in found.columns if forward else reversed(found.columns):
            wanted = []
            for item in column:
                joined = item.before if forward else item.after
                near = [middle[id(each)] for each in joined]
                wanted.append(sum(near) / len(near) if near else middle[id(item)])
            offsets = _offsets(column)
            settled = _never_falling([want - offset for want, offset in zip(wanted, offsets, strict=True)])
            for item, offset, at in zip(column, offsets, settled, strict=True):
                middle[id(item)] = offset + at
    return middle


def _offsets(column: Sequence[Item]) -> list[float]:
    """The middles of the items when they are packed from 0 on."""
    offsets, at = [], 0.0
    for item in column:
        offsets.append(at + _room(item) / 2)
        at += _room(item) + GAP_Y
    return offsets


def _never_falling(wanted: Sequence[float]) -> list[float]:
    """The never falling sequence that is nearest to `wanted` by least squares: pool adjacent violators."""
    pools: list[tuple[float, int]] = []
    for value in wanted:
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            earlier, size = pools.pop()
            total, count = total + earlier, count + size
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]
