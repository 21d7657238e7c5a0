"""Small sets of small numbers as the bits of an integer: bit 5 is set when 5 is in the set."""

from collections.abc import Iterable, Iterator


def to_bits(values: Iterable[int]) -> int:
    bits = 0
    for value in values:
        bits |= 1 << value
    return bits


def from_bits(bits: int) -> Iterator[int]:
    """The members, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def span(low: int, high: int) -> int:
    """Every number from `low` to `high`, both included."""
    return (1 << (high + 1)) - (1 << low)
