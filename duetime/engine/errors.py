"""What can go wrong with the engine. Each message is for the person at the terminal and names the way out."""


class EngineError(Exception):
    """Base of all of them."""


class BinaryNotFound(EngineError):
    """The `temporal` program is nowhere to be found, or does not run."""


class PortTaken(EngineError):
    """Another process listens on a port that the engine was told to use."""


class DataInUse(EngineError):
    """Another engine works on this data directory."""


class DataRefused(EngineError):
    """The database was made by another version of the engine, or by nobody knows whom."""


class EngineFailed(EngineError):
    """The server ended, or did not come up; the message ends with its last words."""


class NamespaceUnfit(EngineError):
    """A namespace cannot hold our jobs: it is missing, or a search attribute cannot be had there."""
