"""The embedded engine: the real Temporal server, run by us: for development, tests, one-machine services."""

from duetime.engine.errors import (
    BinaryNotFound,
    DataInUse,
    DataRefused,
    EngineError,
    EngineFailed,
    NamespaceUnfit,
    PortTaken,
)
from duetime.engine.namespace import prepare_namespace
from duetime.engine.server import EmbeddedEngine, EngineConfig

__all__ = [
    "BinaryNotFound",
    "DataInUse",
    "DataRefused",
    "EmbeddedEngine",
    "EngineConfig",
    "EngineError",
    "EngineFailed",
    "NamespaceUnfit",
    "PortTaken",
    "prepare_namespace",
]
