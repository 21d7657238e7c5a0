"""The OpenAPI document: what FastAPI knows of the routes, and what all of them have in common.

A route names the statuses that are its own (`404`, `409`); what reading a request may answer is added here once.
"""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from api.problems import PROBLEM_SCHEMAS, problem_responses
from api.routes.bulk_examples import BULK_EXAMPLES
from api.routes.examples import EXAMPLES
from api.routes.pipeline_examples import PIPELINE_SCHEMA_EXAMPLES
from api.routes.queue_examples import QUEUE_EXAMPLES
from api.routes.schedule_examples import SCHEDULE_EXAMPLES
from duetime.contracts.duration import format_duration, parse_duration
from duetime.contracts.job import DURATION_DESCRIPTION

Schema = dict[str, Any]

_CHANGING = {"post", "put", "patch", "delete"}
#: FastAPI's own word for a bad request, which no route answers.
_FOREIGN = ("HTTPValidationError", "ValidationError")


def install(app: FastAPI) -> None:
    """Makes `app.openapi()` this document."""

    def openapi() -> Schema:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            app.openapi_schema = completed(document)
            if app.state.gate.lock.access == "open":
                _make_keys_optional(document)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _make_keys_optional(document: Schema) -> None:
    """Says that a call may come without a key; which scope it would take stays told."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if "security" in operation:
                operation["security"].append({})


def operation_name(route: APIRoute) -> str:
    """A name for generated clients, from that of the function: `list_jobs` is `listJobs`."""
    first, *others = route.name.split("_")
    return first + "".join(word.title() for word in others)


def completed(document: Schema) -> Schema:
    """`document` with the problems that every route may answer, and with examples."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(operation, path, method)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in _FOREIGN:
        schemas.pop(name, None)
    schemas.update(PROBLEM_SCHEMAS)
    every = {
        **EXAMPLES,
        **QUEUE_EXAMPLES,
        **BULK_EXAMPLES,
        **SCHEDULE_EXAMPLES,
        **PIPELINE_SCHEMA_EXAMPLES,
    }
    for name, examples in every.items():
        if name in schemas:
            schemas[name]["examples"] = examples
    for schema in _inside(schemas):
        if schema.get("description") == DURATION_DESCRIPTION and isinstance(schema.get("default"), str):
            schema["default"] = format_duration(parse_duration(schema["default"]))
    return document


def _complete(operation: Schema, path: str, method: str) -> None:
    responses = operation["responses"]
    if _FOREIGN[0] in str(responses.get("422")):
        del responses["422"]
    common = [414, 431]  # Refused at the door, whatever the route.
    common += [422, 503] if path.startswith("/v1/") else []
    common += [403] if method in _CHANGING else []
    common += [404] if "{" in path else []  # What stands there may be nothing that any route takes.
    common += [400, 408, 413, 415] if "requestBody" in operation else []
    for status, response in problem_responses(*common).items():
        responses.setdefault(str(status), response)
    operation["responses"] = dict(sorted(responses.items()))


def _inside(value: Any) -> Iterator[Schema]:
    """Every object in `value`."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _inside(item)
    elif isinstance(value, list):
        for item in value:
            yield from _inside(item)
