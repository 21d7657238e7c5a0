"""Values in the text of a query to the search index.

The server's parser and its stores each escape in ways of their own, and wrongly for some signs: a value that holds a
`"` makes SQLite refuse the query, one with a backslash never matches, a `'` at either end is dropped, and `?` is taken
for a parameter on PostgreSQL. So nothing is escaped: what is not harmless is refused.
"""

import re

_HARMLESS = re.compile(r"[A-Za-z0-9 _.:/+=@~^%#-]*")


def is_harmless(value: str) -> bool:
    """Whether every store takes `value` as it is."""
    return _HARMLESS.fullmatch(value) is not None


def literal(value: str) -> str:
    """`value` in quotes; `ValueError` for a sign that the server might not take as it is."""
    if not is_harmless(value):
        raise ValueError(f"not a value for a query: {value[:100]!r}")
    return f"'{value}'"
