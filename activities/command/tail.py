"""The end of a stream of any length in bounded memory."""


class Tail:
    """Keeps the last `limit` bytes of what is appended, and how many there were in all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.total = 0

    def append(self, piece: bytes) -> None:
        self.total += len(piece)
        self._kept += piece
        # Cut at twice the limit, so that each byte is moved about once however small the pieces are.
        if len(self._kept) > 2 * self._limit:
            del self._kept[: -self._limit]

    def bytes(self) -> bytes:
        return bytes(self._kept[-self._limit :])
