"""`docker-compose.yml` as Compose reads it with an empty environment, for the tests that use it."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text()
#: A variable and, after `:-`, what stands in for it.
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

COMPOSE: dict[str, Any] = yaml.safe_load(VARIABLE.sub(lambda match: match[2] or "", TEXT))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
#: The services that run our own code.
OURS = [name for name, service in SERVICES.items() if "build" in service]


def environment(name: str) -> dict[str, str]:
    """The variables that a service is given."""
    return {key: str(value) for key, value in SERVICES[name].get("environment", {}).items()}
