"""One number for one name: the hash behind `H`.

SHA-256, because Python's own `hash` differs from process to process, and a schedule must keep its minute for
as long as it keeps its id.
"""

from hashlib import sha256


def pick(name: str, salt: str, count: int) -> int:
    """A number in `range(count)` that depends on `name` and `salt` alone, evenly spread over names."""
    digest = sha256(f"{name}\0{salt}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % count
