"""Where Temporal is and how to reach it: plain data, so that settings, workers, the API and tests say it one way."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Tls:
    """TLS towards the frontend. Files are PEM, and read anew for every connection.

    Without `ca` the authorities of the system are trusted. `cert` and `key` are the client's own, for mTLS.
    `server_name` is what the server's certificate says, when that is not the host of the address.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    server_name: str | None = None


@dataclass(frozen=True)
class Target:
    """A namespace of a Temporal server at `address` (`host:port`); `tls` of `None` is plain TCP.

    `api_key` goes along with every call as `Authorization: Bearer …`, and so needs TLS.
    """

    address: str
    namespace: str = "default"
    tls: Tls | None = None
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.api_key is not None and self.tls is None:
            raise ValueError("an API key needs TLS: everybody on the way could read it")

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])
