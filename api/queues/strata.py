"""Which of very many jobs are looked at, and for how many each speaks: pure functions.

A flood must not hide the others. So jobs that are alike (queue, kind and fairness key) are one stratum; the small ones
are looked at whole, and what is left of the looks is shared out among the large ones.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from api.jobs.index import Row


@dataclass(frozen=True)
class Crowd:
    """Lines of the index that stand for `total` jobs: they are all of those, or the first."""

    rows: Sequence[Row]
    total: int


@dataclass(frozen=True)
class Stratum:
    """Jobs that are alike: for how many they stand, and those that are looked at."""

    rows: Sequence[Row]
    total: float
    drawn: Sequence[Row]


def strata(crowds: Iterable[Crowd], most: int) -> list[Stratum]:
    """The strata of all, the smallest first, of which `most` jobs are looked at."""
    alike: list[tuple[list[Row], float]] = []
    for crowd in crowds:
        found: dict[tuple[str | None, ...], list[Row]] = {}
        for row in crowd.rows:
            found.setdefault((row.queue, row.kind, row.fairness_key), []).append(row)
        alike += [(rows, len(rows) * crowd.total / len(crowd.rows)) for rows in found.values()]
    alike.sort(key=lambda one: len(one[0]))
    chance, made = secrets.SystemRandom(), []
    for number, (rows, total) in enumerate(alike):
        share = min(len(rows), max(1, most // (len(alike) - number)) if most else 0)
        drawn = rows if share == len(rows) else chance.sample(rows, share)
        made.append(Stratum(rows, total, drawn))
        most -= share
    return made
