"""What the ledger takes as a name, a token and a result, checked before the database sees any of it.

PostgreSQL's `text` cannot hold U+0000 and its index rows hold 2,704 bytes, so both databases get the
stricter rule: what works on SQLite in a test works on PostgreSQL in production.
"""

import json
from datetime import timedelta
from typing import Any

from pydantic import JsonValue

from duetime.contracts.duration import Duration, format_duration, parse_duration

#: Longest resource and key, in characters: at most 2,048 bytes of UTF-8, within an index row of PostgreSQL.
LONGEST_NAME = 512

#: Fencing tokens are the positive half of a signed 64-bit integer, the databases' BIGINT.
HIGHEST_TOKEN = 2**63 - 1

#: Longest remembered result in bytes of JSON: that of a job's own result.
LONGEST_RESULT = 256 * 1024


def checked_name(field: str, value: object) -> str:
    """`value` as a resource or a key, or an error that begins with `field`."""
    if not isinstance(value, str):
        raise TypeError(f"{field}: must be a string, not {type(value).__name__}")
    if not 1 <= len(value) <= LONGEST_NAME:
        raise ValueError(f"{field}: must have 1 to {LONGEST_NAME} characters, not {len(value)}")
    if "\0" in value:
        raise ValueError(f"{field}: must not contain U+0000, which PostgreSQL cannot store")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{field}: must not contain a lone surrogate, which is not a character") from None
    return value


def checked_token(value: object) -> int:
    """`value` as a fencing token."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"token: must be an integer such as job.fencing_token, not {type(value).__name__}")
    if not 0 <= value <= HIGHEST_TOKEN:
        raise ValueError(f"token: must be between 0 and 2^63 - 1, not {value}")
    return value


def checked_span(field: str, value: Duration, *, shortest: timedelta, longest: timedelta) -> timedelta:
    try:
        span = parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from error
    if not shortest <= span <= longest:
        raise ValueError(
            f"{field}: must be between {format_duration(shortest)} and {format_duration(longest)}"
        )
    return span


def result_to_text(value: JsonValue) -> str:
    """`value` as JSON in ASCII, where U+0000 and lone surrogates are harmless escapes."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"result: must be plain JSON (RFC 8259): {error}") from error
    if len(text) > LONGEST_RESULT:
        raise ValueError(f"result: must be at most {LONGEST_RESULT} bytes of JSON, not {len(text)}")
    return text


def result_from_text(text: str) -> Any:
    return json.loads(text)
