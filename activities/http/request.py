"""The payload of the kind `http`."""

import json
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
)

from activities.http.headers import check_headers
from activities.http.target import parse_target
from duetime.contracts.duration import format_duration, parse_duration

MOST_REDIRECTS = 10
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

Span = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}], "examples": ["30s", "1m30s", 30]}),
]
StatusCode = Annotated[int, Field(ge=200, le=599)]


class HttpRequest(BaseModel):
    """One HTTP request and what counts as success."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(description="absolute http or https URL, without user name")
    method: str = Field(default="POST", description=", ".join(METHODS))
    headers: dict[str, str] = Field(default_factory=dict)
    body: JsonValue = Field(
        default=None,
        description="a string is sent as it is (text/plain), null as no body, anything else as JSON "
        "(application/json); a Content-Type header overrides",
    )
    timeout: Span = Field(
        default=timedelta(seconds=30),
        description="from the first name look-up to the last byte, redirects included",
    )
    success: Literal["2xx"] | Annotated[list[StatusCode], Field(min_length=1, max_length=100)] = Field(
        default="2xx", description="status codes that end the job as succeeded"
    )
    follow_redirects: int = Field(
        default=0,
        ge=0,
        le=MOST_REDIRECTS,
        description="how many redirects to follow; each is checked like the URL",
    )
    async_: bool = Field(
        default=False,
        alias="async",
        description="not offered: only false is accepted",
        # So that it is refused when the job is submitted, and not only when it runs.
        json_schema_extra={"const": False},
    )

    @field_validator("url")
    @classmethod
    def _plain_url(cls, url: str) -> str:
        parse_target(url)
        return url

    @field_validator("method")
    @classmethod
    def _known_method(cls, method: str) -> str:
        if method.upper() not in METHODS:
            raise ValueError(f"must be one of {', '.join(METHODS)}")
        return method.upper()

    @field_validator("headers")
    @classmethod
    def _own_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        return check_headers(headers)

    @field_validator("body")
    @classmethod
    def _can_be_sent(cls, body: JsonValue) -> JsonValue:
        try:
            _encoded(body).encode()
        except ValueError as error:
            raise ValueError(f"cannot be sent: {error}") from None
        return body

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: timedelta) -> timedelta:
        if not timeout:
            raise ValueError('must be longer than 0: write "30s", or leave it out')
        return timeout

    @field_validator("async_")
    @classmethod
    def _no_callbacks(cls, wanted: bool) -> bool:
        if wanted:
            raise ValueError(
                "jobs that a callback completes are not offered; leave async out, and let the receiver "
                "submit a job of its own when its work is done"
            )
        return wanted

    def succeeds(self, status: int) -> bool:
        return 200 <= status <= 299 if self.success == "2xx" else status in self.success

    def content(self) -> tuple[str, str | None]:
        """The body to send and the content type it has unless a header says otherwise."""
        if self.body is None:
            return "", None
        if isinstance(self.body, str):
            return self.body, "text/plain; charset=utf-8"
        return _encoded(self.body), "application/json"


def _encoded(body: JsonValue) -> str:
    if isinstance(body, str):
        return body
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
