"""Payloads held to the JSON Schema that workers announced for their kind. Needs `jsonschema` and `referencing`."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema
import referencing

from duetime.contracts.explain import Fault
from duetime.contracts.json_value import escape_pointer
from duetime.contracts.kinds import KindEntry

_FAULTS = 20


def payload_faults(entry: KindEntry, payload: Mapping[str, Any]) -> list[Fault]:
    """What the kind's JSON Schema finds wrong with a payload, as pointers into the submission."""
    if entry.payload_schema is None:
        return []
    validator = _validator(_frozen(entry.payload_schema))
    errors = sorted(validator.iter_errors(payload), key=lambda error: list(map(str, error.absolute_path)))
    return [
        {
            "pointer": "/payload" + "".join(f"/{escape_pointer(str(step))}" for step in error.absolute_path),
            "message": _message(error),
        }
        for error in errors[:_FAULTS]
    ]


def _message(error: jsonschema.ValidationError) -> str:
    """What is wrong, and what the schema says the field is for: the way out."""
    message, schema = error.message[:500], error.schema
    purpose = schema.get("description") if error.absolute_path and isinstance(schema, dict) else None
    return f"{message} ({purpose[:300]})" if isinstance(purpose, str) and purpose else message


def _frozen(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


@lru_cache(maxsize=512)
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    # An empty registry: a `$ref` to some address must not make the API fetch it.
    return jsonschema.Draft202012Validator(json.loads(schema), registry=referencing.Registry())
