"""What the ledger refuses, and why.

    LedgerError
    ├── StaleToken           a newer attempt has touched the resource
    ├── NoTransaction        the mark could not stand or fall with the effect
    ├── NoSchema             the ledger's tables are not there
    ├── NotDone              a result is asked of, or given to, an effect that no one has marked
    └── AlreadyRemembered    the effect has its result

Bad arguments are plain `ValueError` and `TypeError`; errors of the database stay SQLAlchemy's.
"""


class LedgerError(Exception):
    """Base of what the ledger refuses."""


class StaleToken(LedgerError):
    """A newer attempt has touched the resource: this one must not write to it.

    Let it leave the transaction's block, so that whatever the attempt wrote before is rolled back. For a
    lost lease that is the end of the story; a job that merely shares the resource with a job dispatched
    later is retried with a newer token.
    """

    def __init__(self, resource: str, token: int, seen: int) -> None:
        # The three go to `args`, so that the error survives pickling on its way out of another process.
        super().__init__(resource, token, seen)
        self.resource = resource
        self.token = token
        self.seen = seen

    def __str__(self) -> str:
        return f"stale token {self.token} for resource {self.resource!r}: a newer attempt holds {self.seen}"


class NoTransaction(LedgerError):
    """There is no live transaction that would keep or forget the mark together with the effect."""


class NoSchema(LedgerError):
    """The ledger's tables are not in this database."""


class NotDone(LedgerError, LookupError):
    """No effect is marked under the key: `once` comes first."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"no effect is marked under key {self.key!r}: call once() first, in the same transaction"


class AlreadyRemembered(LedgerError):
    """The effect has its result already, and the first one stays."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"the effect under key {self.key!r} has its result already: read it with recall()"
