"""What the routes that submit have in common: the key, and what an answer tells beside the job or pipeline."""

from typing import Any

from fastapi import Header, Response
from pydantic import BaseModel

from api.jobs.claiming import Accepted
from api.problems import problem_responses
from duetime.contracts import limits


def idempotency_header(made: str) -> Any:
    """The header `Idempotency-Key` of a route that makes a `made`, for its OpenAPI entry."""
    return Header(
        alias="Idempotency-Key",
        description=f"the same key and body are the same {made}",
        json_schema_extra={
            "minLength": 1,
            "maxLength": limits.IDEMPOTENCY_KEY_LENGTH,
            "pattern": "^[ -~]+$",
        },
    )


def headers_told(**described: str) -> dict[str, Any]:
    """OpenAPI entries for headers of an answer, `_` in their names standing for `-`."""
    return {
        name.replace("_", "-"): {"description": description, "schema": {"type": "string"}}
        for name, description in described.items()
    }


def submission_responses(made: str, view: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of a route that makes a `made`."""
    location = {"Location": f"where the {made} is read"}
    kept = {"Idempotency_Key_Kept": "with a key: how long it is remembered"}
    replayed = {"Idempotency_Replayed": f"`true` when the key brought back a {made} that was there"}
    return {
        200: {
            "model": view,
            "description": f"The {made} that is there: the same key and body, or `on_conflict: return`",
            "headers": headers_told(**location, **kept, **replayed),
        },
        201: {"description": f"Accepted: the {made} is durable", "headers": headers_told(**location, **kept)},
        **problem_responses(409),
    }


def tell(response: Response, accepted: Accepted[Any], location: str, key_lifetime: str | None) -> None:
    """Status and headers for what was `accepted`; `key_lifetime` when it came with a key."""
    response.status_code = 201 if accepted.created else 200
    response.headers["Location"] = location
    if key_lifetime is not None:
        response.headers["Idempotency-Key-Kept"] = key_lifetime
    if accepted.replayed:
        response.headers["Idempotency-Replayed"] = "true"
