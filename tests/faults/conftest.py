"""PostgreSQL for the effects that outlive everything."""

from tests.support.postgres import postgres_server

__all__ = ["postgres_server"]
