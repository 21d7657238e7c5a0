"""How the items of one job are divided among several workflows: pure.

One workflow is told of one thing after the other, each in a transaction of the server's: some twenty items a second, on
whatever machine. Several share that, each with every so manieth item, so that none has all the long ones; and what all
items under way may return has room in their histories.
"""

#: Parts at most; items under way in each, and items in all, from which on another is worth its while; the most under
#: way in one, for what that many may return has room in a history at any time.
_MOST, _SLOTS, _ITEMS, _MOST_SLOTS = 16, 10, 40, 32


def how_many(items: int, parallel: int) -> int:
    """Among how many parts so many items are divided, of which `parallel` may be under way at once."""
    at_once = min(items, parallel)
    needed = -(-at_once // _MOST_SLOTS)
    return max(1, min(_MOST, max(needed, min(at_once // _SLOTS, items // _ITEMS))))


def slots(parallel: int, parts: int, part: int) -> int:
    """How many items of this part may be under way at once; those of all parts together are `parallel`."""
    return parallel // parts + (part < parallel % parts)
