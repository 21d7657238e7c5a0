"""The payload of `http`: what is refused, and that the refusal names the field and the way out."""

import json
from datetime import timedelta

import pytest
from pydantic import ValidationError

from activities.http.request import HttpRequest
from duetime.contracts.kinds import KindEntry
from duetime.payloads import payload_faults

URL = "https://example.org/hook"


@pytest.mark.parametrize(
    ("payload", "field", "says"),
    [
        ({}, "url", "required"),
        ({"url": "ftp://example.org"}, "url", "https://"),
        ({"url": URL, "method": "CONNECT"}, "method", "POST"),
        ({"url": URL, "method": "GET\r\nX: y"}, "method", "POST"),
        ({"url": URL, "async": True}, "async", "not offered"),
        ({"url": URL, "follow_redirects": 11}, "follow_redirects", "10"),
        ({"url": URL, "follow_redirects": -1}, "follow_redirects", "0"),
        ({"url": URL, "timeout": "0s"}, "timeout", "30s"),
        ({"url": URL, "timeout": "P1M"}, "timeout", "no fixed length"),
        ({"url": URL, "timeout": -1}, "timeout", "negative"),
        ({"url": URL, "success": []}, "success", ""),
        ({"url": URL, "success": "3xx"}, "success", "2xx"),
        ({"url": URL, "success": [99]}, "success", "200"),
        ({"url": URL, "body": float("nan")}, "body", "JSON"),
        ({"url": URL, "body": "\ud800"}, "body", ""),
        ({"url": URL, "redirects": True}, "redirects", "not permitted"),
        ({"url": URL, "headers": {"X": "a\r\nY: b"}}, "headers", "line break"),
        ({"url": URL, "headers": {"X": "a\nb"}}, "headers", "line break"),
        ({"url": URL, "headers": {"X": "a\0b"}}, "headers", "X"),
        ({"url": URL, "headers": {"X": "é"}}, "headers", "ASCII"),
        ({"url": URL, "headers": {"X\r\nY": "a"}}, "headers", "header name"),
        ({"url": URL, "headers": {"X Y": "a"}}, "headers", "header name"),
        ({"url": URL, "headers": {"": "a"}}, "headers", "header name"),
        ({"url": URL, "headers": {"a": "1", "A": "2"}}, "headers", "twice"),
        ({"url": URL, "headers": {"a": "x" * 8193}}, "headers", "8192"),
        ({"url": URL, "headers": {f"x-{n}": "" for n in range(65)}}, "headers", "64"),
    ],
)
def test_a_refusal_names_the_field_and_the_way_out(payload: dict[str, object], field: str, says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        HttpRequest.model_validate(payload)
    error = refused.value.errors()[0]
    assert error["loc"][0] == field
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Connection",
        "Keep-Alive",
        "Transfer-Encoding",
        "Content-Length",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Idempotency-Key",
        "Duetime-Job-Id",
        "duetime-fencing-token",
        "Duetime-Anything",
        "webhook-id",
        "Webhook-Signature",
        "webhook-timestamp",
    ],
)
def test_what_is_the_transports_or_ours_cannot_be_set(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        HttpRequest(url=URL, headers={name: "x"})


def test_the_defaults_are_a_careful_post() -> None:
    request = HttpRequest(url=URL)
    assert (request.method, request.timeout, request.follow_redirects) == ("POST", timedelta(seconds=30), 0)
    assert request.succeeds(204) and not request.succeeds(302) and not request.succeeds(404)


def test_it_survives_the_wire() -> None:
    payload = {"url": URL, "method": "put", "body": {"a": [1, None]}, "timeout": "1m30s", "async": False}
    request = HttpRequest.model_validate(payload)
    again = HttpRequest.model_validate(json.loads(request.model_dump_json(by_alias=True)))
    assert again == request
    assert request.method == "PUT"
    assert HttpRequest.model_json_schema()["properties"].keys() >= {"url", "timeout", "async"}


def test_what_is_not_offered_is_refused_when_the_job_is_submitted() -> None:
    """By the schema that workers announce, with the reason."""
    entry = KindEntry(kind="http", queue="default", payload_schema=HttpRequest.model_json_schema())
    assert payload_faults(entry, {"url": URL, "async": False}) == []
    assert payload_faults(entry, {"url": URL, "async": True}) == [
        {"pointer": "/payload/async", "message": "False was expected (not offered: only false is accepted)"}
    ]


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        (None, "", None),
        ("", "", "text/plain; charset=utf-8"),
        ("é", "é", "text/plain; charset=utf-8"),
        ({"a": "é"}, '{"a":"é"}', "application/json"),
        ([1, 2.5, True], "[1,2.5,true]", "application/json"),
        (0, "0", "application/json"),
    ],
)
def test_the_body_decides_its_type(body: object, sent: str, content_type: str | None) -> None:
    request = HttpRequest.model_validate({"url": URL, "body": body})
    assert request.content() == (sent, content_type)
