"""The OpenAPI document: valid, complete, and with examples that are what they say."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from schemathesis.specs.openapi.definitions import OPENAPI_31

Json = dict[str, Any]


@pytest.fixture(scope="session")
def document(app: FastAPI) -> Json:
    return app.openapi()


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, found in document["paths"].items():
        for method, operation in found.items():
            yield method, path, operation


def inside(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from inside(item)


def validator(document: Json, schema: Json) -> Draft202012Validator:
    """One for a schema of the document, whose references lead into the document."""
    resource = Resource.from_contents(document, default_specification=DRAFT202012)
    absolute = {"$ref": f"urn:api{schema['$ref']}"} if "$ref" in schema else _absolute(schema)
    return Draft202012Validator(absolute, registry=Registry().with_resource("urn:api", resource))


def _absolute(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: f"urn:api{item}" if key == "$ref" else _absolute(item) for key, item in value.items()}
    return [_absolute(item) for item in value] if isinstance(value, list) else value


def test_it_is_a_document_of_openapi_3_1(document: Json) -> None:
    assert document["openapi"].startswith("3.1")
    faults = [error.message for error in Draft202012Validator(OPENAPI_31).iter_errors(document)]
    assert faults == []


def test_every_reference_leads_somewhere_and_every_schema_is_one(document: Json) -> None:
    schemas = document["components"]["schemas"]
    named = {found["$ref"] for found in inside(document) if isinstance(found.get("$ref"), str)}
    assert named <= {f"#/components/schemas/{name}" for name in schemas}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    unused = {f"#/components/schemas/{name}" for name in schemas} - named
    assert unused == set(), "components that nothing refers to"


def test_operation_ids_are_names_that_a_generator_can_use(document: Json) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if not re.fullmatch(r"[a-z]+([A-Z][a-z]*)*", name)] == []
    assert {"submitJob", "getJob", "awaitJob", "changeJob", "runJobNow", "cancelJob"} <= set(ids)


def test_every_operation_says_what_it_may_answer(document: Json) -> None:
    for method, path, operation in operations(document):
        name, statuses = operation["operationId"], operation["responses"].keys()
        assert operation["summary"], name
        assert [status for status in statuses if status.startswith("2")], name
        assert {"414", "431"} <= statuses, name
        if path.startswith("/v1/"):
            assert {"422", "503"} <= statuses, name
        if "{" in path and not path.startswith(("/v1/fences/", "/v1/queues/")):  # any name is one
            assert "404" in statuses, name
        if method != "get":
            assert "403" in statuses, name
        if "requestBody" in operation:
            assert {"400", "408", "413", "415"} <= statuses, name
        for status, response in operation["responses"].items():
            assert response["description"], (name, status)
            if status[0] in "45":
                schema = {"$ref": "#/components/schemas/Problem"}
                assert response["content"] == {"application/problem+json": {"schema": schema}}, (name, status)
            elif status == "204":
                assert "content" not in response, name
            else:
                assert response["content"], (name, status)
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), (name, parameter["name"])


def examples(document: Json) -> Iterator[tuple[str, Json, Any]]:
    """Where, schema and value of every example."""
    for name, schema in document["components"]["schemas"].items():
        for value in schema.get("examples", []):
            yield name, {"$ref": f"#/components/schemas/{name}"}, value
        for field, inner in schema.get("properties", {}).items():
            for value in inner.get("examples", []):
                yield f"{name}.{field}", inner, value
            if "default" in inner:
                yield f"{name}.{field}", inner, inner["default"]
    for _, _, operation in operations(document):
        name = operation["operationId"]
        for parameter in operation.get("parameters", []):
            for value in parameter["schema"].get("examples", []):
                yield f"{name} {parameter['name']}", parameter["schema"], value
        for body in [operation.get("requestBody", {}), *operation["responses"].values()]:
            for media in body.get("content", {}).values():
                for example in media.get("examples", {}).values():
                    yield name, media["schema"], example["value"]
                if "example" in media:
                    yield name, media["schema"], media["example"]


def test_every_example_and_default_is_one(document: Json) -> None:
    found = list(examples(document))
    assert len(found) > 20
    for where, schema, value in found:
        faults = [error.message for error in validator(document, schema).iter_errors(value)]
        assert faults == [], where


def test_what_is_sent_and_what_comes_back_has_examples(document: Json) -> None:
    bodies = set()
    for _, _, operation in operations(document):
        for part in (operation.get("requestBody", {}), *operation["responses"].values()):
            for media in part.get("content", {}).values():
                if not media.keys() & {"example", "examples"}:
                    bodies |= {found["$ref"] for found in inside(media["schema"]) if "$ref" in found}
    for name in sorted(reference.rpartition("/")[2] for reference in bodies):
        assert document["components"]["schemas"][name].get("examples"), name


def test_durations_are_told_in_the_form_that_answers_have(document: Json) -> None:
    fields = document["components"]["schemas"]["Submission"]["properties"]
    assert (fields["timeout"]["default"], fields["lease"]["default"]) == ("10m", "30s")
    assert fields["spread"]["default"] == "0s"


def test_a_key_says_what_it_makes_once(document: Json) -> None:
    said = {
        f"{method.upper()} {path}": parameter["description"]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for parameter in operation.get("parameters", [])
        if parameter["name"].lower() == "idempotency-key"
    }
    same = "the same key and body are the same"
    batch = said.pop("POST /v1/jobs:batch")
    assert "key of each job" in batch
    assert said == {
        "POST /v1/jobs": f"{same} job",
        "POST /v1/pipelines": f"{same} pipeline",
        "POST /v1/jobs:retry": f"{same} operation",
        "POST /v1/jobs:cancel": f"{same} operation",
    }
