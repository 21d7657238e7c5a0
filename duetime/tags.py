"""Tags as the search index holds them: in a spelling that every store compares exactly.

Stores differ in what they take for equal. On SQLite the index of a keyword list folds case (`Sms` is `sms`), and the
server's query language cannot say a value that holds `"` or `\\`, or that begins or ends with `'`. So a tag is indexed
in signs that all of them treat alike: lower-case letters, digits, the space and `_.:/+=@~-` stand for themselves, `^x`
for `X`, and `%hh` for a byte of the UTF-8 of anything else. The tags of most people look the same in both spellings.

A tag whose spelling is long becomes a hash of it, so that the largest list still fits the 2,048 bytes which the server
allows for one attribute.
"""

import hashlib
import re
from collections.abc import Iterable

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789 _.:/+=@~-")
#: Twenty of them, with their quotes and commas, stay below 2,048 bytes.
_LONGEST = 95
_HASHED = "#"
_ESCAPE = re.compile(r"\^([a-z])|((?:%[0-9a-f]{2})+)|([^\^%])")


def index_tag(tag: str) -> str:
    """The spelling of a tag in the index: no two tags share one.

    >>> index_tag("clinic"), index_tag("SMS"), index_tag('say "hi"')
    ('clinic', '^s^m^s', 'say %22hi%22')
    """
    spelled = "".join(map(_spell, tag))
    if len(spelled) <= _LONGEST:
        return spelled
    return _HASHED + hashlib.sha256(tag.encode()).hexdigest()[:40]


def _spell(sign: str) -> str:
    if sign in _PLAIN:
        return sign
    if "A" <= sign <= "Z":
        return "^" + sign.lower()
    return "".join(f"%{byte:02x}" for byte in sign.encode())


def read_tags(indexed: Iterable[str]) -> list[str] | None:
    """The tags in the index's spelling; `None` when it does not tell them all (a hash, a foreign spelling)."""
    tags = [_read(spelled) for spelled in indexed]
    found = [tag for tag in tags if tag is not None]
    return found if len(found) == len(tags) else None


def _read(spelled: str) -> str | None:
    def sign(match: re.Match[str]) -> str:
        upper, escaped, plain = match.groups()
        if upper:
            return str(upper).upper()
        return bytes.fromhex(escaped.replace("%", "")).decode() if escaped else str(plain)

    try:
        tag = _ESCAPE.sub(sign, spelled)
    except UnicodeDecodeError:
        return None
    return tag if index_tag(tag) == spelled else None
