"""Fields that a submission may not have: every refusal names the field, and the way out."""

import json
from typing import Any

import pytest

from duetime.contracts.explain import FAULTS
from tests.api.caller import Caller, JobJson, faults, problem

#: Name: (fields, pointer, a part of the message).
BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    # kind
    "kind missing": ({"kind": ...}, "/kind", "required"),
    "kind null": ({"kind": None}, "/kind", "string"),
    "kind number": ({"kind": 5}, "/kind", "string"),
    "kind empty": ({"kind": ""}, "/kind", "at least 1"),
    "kind long": ({"kind": "k" * 101}, "/kind", "100"),
    "kind with a blank": ({"kind": "a b"}, "/kind", "may hold letters, digits and"),
    "kind with a newline": ({"kind": "echo\n"}, "/kind", "may hold letters, digits and"),
    "kind with NUL": ({"kind": "a\x00"}, "/kind", "may hold letters, digits and"),
    "kind emoji": ({"kind": "😀"}, "/kind", "may hold letters, digits and"),
    "kind surrogate": ({"kind": "\ud800"}, "/kind", "Unicode"),
    "kind dots": ({"kind": ".."}, "/kind", '"." or ".."'),
    "kind with dots between slashes": ({"kind": "a/./b"}, "/kind", '"." or ".."'),
    "kind of letters that look alike": ({"kind": "еcho"}, "/kind", "may hold letters, digits and"),
    # id
    "id dot": ({"id": "."}, "/id", '"." or ".."'),
    "id dots": ({"id": ".."}, "/id", '"." or ".."'),
    "id path": ({"id": "../x"}, "/id", "may hold letters, digits and"),
    "id long": ({"id": "x" * 201}, "/id", "200"),
    "id empty": ({"id": ""}, "/id", "at least 1"),
    "id reserved": ({"id": "a~b"}, "/id", "may hold letters, digits and"),
    "id slash": ({"id": "a/b"}, "/id", "may hold letters, digits and"),
    "id percent": ({"id": "a%2Fb"}, "/id", "may hold letters, digits and"),
    "id number": ({"id": 4711}, "/id", "string"),
    # queue
    "queue reserved": ({"queue": "duetime"}, "/queue", "reserved"),
    "queue reserved beginning": ({"queue": "duetime-x"}, "/queue", "reserved"),
    "queue dot": ({"queue": "."}, "/queue", '"." or ".."'),
    "queue dots": ({"queue": ".."}, "/queue", '"." or ".."'),
    "queue null": ({"queue": None}, "/queue", "string"),
    "queue blank": ({"queue": " "}, "/queue", "may hold letters, digits and"),
    "queue long": ({"queue": "q" * 201}, "/queue", "200"),
    # payload
    "payload list": ({"payload": []}, "/payload", "must be an object"),
    "payload text": ({"payload": "{}"}, "/payload", "must be an object"),
    "payload null": ({"payload": None}, "/payload", "must be an object"),
    # run_at
    "naive": ({"run_at": "2027-01-15T09:00:00"}, "/run_at", "offset"),
    "date alone": ({"run_at": "2027-01-15"}, "/run_at", "RFC 3339"),
    "no seconds": ({"run_at": "2027-01-15T09:00Z"}, "/run_at", "RFC 3339"),
    "words": ({"run_at": "tomorrow"}, "/run_at", "RFC 3339"),
    "epoch": ({"run_at": 1796000000}, "/run_at", "string"),
    "year 1": ({"run_at": "0001-01-01T00:00:00Z"}, "/run_at", "1970"),
    "year 1 in the east": ({"run_at": "0001-01-01T00:00:00+14:00"}, "/run_at", "1970"),
    "year 0": ({"run_at": "0000-01-01T00:00:00Z"}, "/run_at", "year"),
    "before 1970": ({"run_at": "1969-12-31T23:59:59Z"}, "/run_at", "1970"),
    "year 9999 in the west": ({"run_at": "9999-12-31T23:59:59-12:00"}, "/run_at", "9999"),
    "too far": ({"run_at": "2099-01-01T00:00:00Z"}, "/run_at", "five years"),
    "a leap second": ({"run_at": "2027-06-30T23:59:60Z"}, "/run_at", "second"),
    "hour 24": ({"run_at": "2027-06-30T24:00:00Z"}, "/run_at", "hour"),
    "30 February": ({"run_at": "2027-02-30T00:00:00Z"}, "/run_at", "day"),
    "month 13": ({"run_at": "2027-13-01T00:00:00Z"}, "/run_at", "month"),
    "offset of a day": ({"run_at": "2027-01-01T00:00:00+24:00"}, "/run_at", "offset"),
    "offset without colon": ({"run_at": "2027-01-01T00:00:00+0100"}, "/run_at", "RFC 3339"),
    "arabic digits": ({"run_at": "٢٠٢٧-01-01T00:00:00Z"}, "/run_at", "RFC 3339"),
    "zone unknown": ({"run_at": "2027-01-01T00:00:00", "timezone": "Mars/Olympus"}, "/timezone", "IANA"),
    "zone in lower case": (
        {"run_at": "2027-01-01T00:00:00", "timezone": "europe/paris"},
        "/timezone",
        "did you mean 'Europe/Paris'",
    ),
    "zone path": ({"run_at": "2027-01-01T00:00:00", "timezone": "../../etc/passwd"}, "/timezone", "IANA"),
    "zone NUL": ({"run_at": "2027-01-01T00:00:00", "timezone": "a\x00b"}, "/timezone", "IANA"),
    "zone surrogate": ({"run_at": "2027-01-01T00:00:00", "timezone": "\ud800"}, "/timezone", "IANA"),
    "zone empty": ({"run_at": "2027-01-01T00:00:00", "timezone": ""}, "/timezone", "IANA"),
    "zone long": ({"run_at": "2027-01-01T00:00:00", "timezone": "a" * 5000}, "/timezone", "IANA"),
    "zone and offset": ({"run_at": "2027-01-01T00:00:00Z", "timezone": "UTC"}, "/run_at", "leave out one"),
    "zone alone": ({"timezone": "UTC"}, "", "only goes with"),
    "zone and delay": ({"timezone": "UTC", "delay": "5m"}, "", "only goes with"),
    # delay
    "delay and run_at": ({"delay": "5m", "run_at": "2027-01-01T00:00:00Z"}, "", "leave out one"),
    "delay negative": ({"delay": -1}, "/delay", "negative"),
    "delay negative text": ({"delay": "-5m"}, "/delay", "duration"),
    "delay of digits": ({"delay": "60"}, "/delay", '"90s"'),
    "delay true": ({"delay": True}, "/delay", "duration"),
    "delay list": ({"delay": [60]}, "/delay", "duration"),
    "delay empty": ({"delay": ""}, "/delay", "duration"),
    "delay of a month": ({"delay": "P1M"}, "/delay", "months"),
    "delay ISO negative": ({"delay": "-PT5M"}, "/delay", "duration"),
    "delay 1e12": ({"delay": 1e12}, "/delay", "100 years"),
    "delay 10 years": ({"delay": 315_360_000}, "/delay", "five years"),
    "delay past 2^47": ({"delay": 2**47}, "/delay", "100 years"),
    "delay of many digits": ({"delay": "9" * 60 + "s"}, "/delay", "100 years"),
    "delay integer without end": ({"delay": 10**400}, "/delay", "100 years"),
    # clocks
    "timeout none": ({"timeout": 0}, "/timeout", "from 1s"),
    "timeout null": ({"timeout": None}, "/timeout", "duration"),
    "timeout of years": ({"timeout": "400d"}, "/timeout", "to 366d"),
    "lease short": ({"lease": "1s"}, "/lease", "from 2s"),
    "lease long": ({"lease": "2h"}, "/lease", "to 1h"),
    "queue_timeout short": ({"queue_timeout": "10ms"}, "/queue_timeout", "from 1s"),
    "deadline short": ({"deadline": 0}, "/deadline", "from 1s"),
    "spread long": ({"spread": "25h"}, "/spread", "to 1d"),
    # numbers
    "priority 0": ({"priority": 0}, "/priority", "1"),
    "priority 6": ({"priority": 6}, "/priority", "5"),
    "priority true": ({"priority": True}, "/priority", "whole number"),
    "priority text": ({"priority": "3"}, "/priority", "whole number"),
    "priority float": ({"priority": 3.0}, "/priority", "whole number"),
    "priority of digits": ({"priority": 10**1000}, "/priority", "5"),
    "weight 0": ({"fairness_weight": 0}, "/fairness_weight", "0.001"),
    "weight over": ({"fairness_weight": 1000.1}, "/fairness_weight", "1,000"),
    "weight negative": ({"fairness_weight": -1}, "/fairness_weight", "0.001"),
    "weight text": ({"fairness_weight": "1"}, "/fairness_weight", "number"),
    "weight true": ({"fairness_weight": True}, "/fairness_weight", "number"),
    "fairness key empty": ({"fairness_key": ""}, "/fairness_key", "at least 1"),
    "fairness key bytes": ({"fairness_key": "é" * 33}, "/fairness_key", "64 bytes"),
    "fairness key NUL": ({"fairness_key": "a\x00"}, "/fairness_key", "control"),
    # tags
    "tags text": ({"tags": "a,b"}, "/tags", "list"),
    "tags too many": ({"tags": ["t"] * 21}, "/tags", "20"),
    "tag empty": ({"tags": ["a", ""]}, "/tags/1", "at least 1"),
    "tag long": ({"tags": ["t" * 65]}, "/tags/0", "64"),
    "tag NUL": ({"tags": ["a", "b\x00"]}, "/tags/1", "control"),
    "tag surrogate": ({"tags": ["\ud800"]}, "/tags/0", "Unicode"),
    "tag number": ({"tags": [1]}, "/tags/0", "string"),
    # retry
    "retry null": ({"retry": None}, "/retry", "must be an object"),
    "retry number": ({"retry": 3}, "/retry", "must be an object"),
    "attempts 0": ({"retry": {"max_attempts": 0}}, "/retry/max_attempts", "1"),
    "attempts many": ({"retry": {"max_attempts": 1001}}, "/retry/max_attempts", "1,000"),
    "attempts float": ({"retry": {"max_attempts": 2.5}}, "/retry/max_attempts", "whole number"),
    "interval negative": ({"retry": {"initial_interval": -1}}, "/retry/initial_interval", "negative"),
    "interval long": ({"retry": {"max_interval": "400d"}}, "/retry/max_interval", "to 366d"),
    "backoff below 1": ({"retry": {"backoff": 0.5}}, "/retry/backoff", "1"),
    "backoff over": ({"retry": {"backoff": 101}}, "/retry/backoff", "100"),
    "jitter over": ({"retry": {"jitter": 1.1}}, "/retry/jitter", "1"),
    "non_retryable text": ({"retry": {"non_retryable": "E"}}, "/retry/non_retryable", "list"),
    "non_retryable empty": ({"retry": {"non_retryable": [""]}}, "/retry/non_retryable/0", "at least 1"),
    "non_retryable many": ({"retry": {"non_retryable": ["E"] * 51}}, "/retry/non_retryable", "50"),
    "retry unknown": ({"retry": {"attempts": 3}}, "/retry/attempts", "did you mean `max_attempts`"),
    # conflict
    "on_conflict": ({"on_conflict": "ignore"}, "/on_conflict", "reject"),
    "reuse_id text": ({"reuse_id": "true"}, "/reuse_id", "true or false"),
    "reuse_id number": ({"reuse_id": 1}, "/reuse_id", "true or false"),
    # unknown fields
    "typo": ({"paylod": {}}, "/paylod", "did you mean `payload`"),
    "case": ({"Kind": "echo"}, "/Kind", "did you mean `kind`"),
    "nothing near": ({"xyzzy": 1}, "/xyzzy", "known are `"),
    "slash in the name": ({"a/b~c": 1}, "/a~1b~0c", "unknown field"),
    "like a step of a path": ({"a[0]": 1}, "/a[0]", "unknown field"),
    "emoji in the name": ({"😀": 1}, "/😀", "unknown field"),
    "surrogate in the name": ({"\ud800": 1}, "", "Unicode"),
    "answered, not asked": ({"state": "queued"}, "/state", "unknown field"),
    "notify": ({"notify": [{"url": "https://example.org"}]}, "/notify", "not available"),
}


async def refused(api: Caller, fields: dict[str, Any], kind: str = "echo") -> dict[str, str]:
    body = {"kind": kind, "queue": api.queue} | fields
    text = json.dumps({name: value for name, value in body.items() if value is not ...})
    answer = await api.http.post("/v1/jobs", content=text, headers={"content-type": "application/json"})
    return faults(answer)


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_field_is_named(api: Caller, name: str) -> None:
    fields, pointer, said = BAD[name]
    found = await refused(api, fields)
    assert list(found) == [pointer]
    assert said in found[pointer], found
    assert len(found[pointer]) < 600 and "Value error" not in found[pointer]


async def test_all_bad_fields_are_named_at_once(api: Caller) -> None:
    found = await refused(api, {"priority": 9, "tags": [""], "retry": {"jitter": 2}, "dealy": "1m"})
    assert set(found) == {"/priority", "/tags/0", "/retry/jitter", "/dealy"}


async def test_however_much_is_wrong_the_answer_is_small(api: Caller) -> None:
    found = await refused(api, {f"field-{n}": n for n in range(20_000)})
    assert len(found) == FAULTS + 1 and found[""] == f"and {20_000 - FAULTS:,} more faults"
    (pointer,) = await refused(api, {"x" * 500_000: 1})
    assert len(pointer) < 600 and pointer.startswith("/xxx")
    query = "&".join(f"a{n}=1" for n in range(200))
    assert len(faults(await api.http.get(f"/v1/jobs/x/result?{query}"))) == FAULTS + 1


#: Of commands: (path, body, pointer, a part of the message).
BAD_COMMANDS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "cancel, a field that is near": (":cancel", {"reson": "x"}, "/reson", "did you mean `reason`?"),
    "cancel, too long a grace": (":cancel", {"grace": "61m"}, "/grace", "must be from 0s to 1h"),
    "retry, a field that is near": (":retry", {"forced": True}, "/forced", "did you mean `force`?"),
    "retry, a field that is far": (":retry", {"x": 1}, "/x", "known are `from`, `run_id`, `force`"),
    "run-now takes none": (":run-now", {"delay": "1h"}, "", "takes no body"),
}


@pytest.mark.parametrize("name", BAD_COMMANDS)
async def test_a_bad_field_of_a_command_is_named_and_nothing_done(
    api: Caller, later: JobJson, name: str
) -> None:
    command, body, pointer, said = BAD_COMMANDS[name]
    found = faults(await api.http.post(f"/v1/jobs/{later['id']}{command}", json=body))
    assert list(found) == [pointer] and said in found[pointer], found
    assert (await api.get(later["id"]))["state"] == "scheduled"


@pytest.mark.parametrize("body", ["{}", "null", ""])
async def test_a_command_without_fields_may_say_so(api: Caller, body: str) -> None:
    job = await api.submit(delay="1h")
    path, headers = f"/v1/jobs/{job['id']}:run-now", {"content-type": "application/json"}
    answer = await api.http.post(path, content=body, headers=headers)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("query", ["wait=1s&wait=60s", "wait=0s&wait=0s"])
async def test_a_parameter_twice_is_refused(api: Caller, later: JobJson, query: str) -> None:
    found = faults(await api.http.get(f"/v1/jobs/{later['id']}/result?{query}"))
    assert found == {"query wait": "is given more than once"}


@pytest.fixture
async def later(api: Caller) -> JobJson:
    """A job that has time."""
    return await api.submit(delay="1h")


@pytest.mark.parametrize("body", ["[]", '"echo"', "5", "true", "null", "[[{}]]"])
async def test_a_body_that_is_no_object(api: Caller, body: str) -> None:
    answer = await api.http.post("/v1/jobs", content=body, headers={"content-type": "application/json"})
    assert list(faults(answer)) == [""]


#: Inside the payload: (JSON text, pointer, a part of the message).
INEXACT = {
    "surrogate": (r'{"a": ["x", "\ud800"]}', "/payload/a/1", "surrogate"),
    "surrogate in a name": (r'{"\udfff": 1}', "/payload", "surrogate"),
    "surrogate pair the wrong way": (r'{"a": "\udc00\ud800"}', "/payload/a", "surrogate"),
    "infinity by size": ('{"a": {"b/c": 1e999}}', "/payload/a/b~1c", "not a JSON number"),
    "minus infinity": ('{"a": -1e999}', "/payload/a", "not a JSON number"),
    "deep": ('{"a": ' + "[" * 100 + "]" * 100 + "}", "/payload", "deeper than 100"),
}


@pytest.mark.parametrize("name", INEXACT)
async def test_a_payload_that_would_not_come_back_exactly(api: Caller, name: str) -> None:
    payload, pointer, said = INEXACT[name]
    text = f'{{"kind": "echo", "queue": "{api.queue}", "payload": {payload}}}'
    answer = await api.http.post("/v1/jobs", content=text, headers={"content-type": "application/json"})
    found = faults(answer)
    assert list(found) == [pointer] and said in found[pointer]


#: Just within the bounds.
GOOD: dict[str, dict[str, Any]] = {
    "longest names": {"id": "x" * 150, "kind": "k" * 100, "tags": ["é" * 64] * 20},
    "all signs": {"kind": "a.B_c:d-e/f0", "tags": ["emoji 😀", "a,b;c'\"\\"], "fairness_key": "é" * 32},
    "bounds of numbers": {
        "priority": 5,
        "fairness_key": "k",
        "fairness_weight": 1000,
        "retry": {"jitter": 0},
    },
    "five years": {"delay": "1826d"},
    "half a second": {"delay": 0.5},
    "an ISO duration": {"delay": "PT1H30M"},
    "nulls": {"run_at": None, "delay": None, "timezone": None, "id": None, "fairness_key": None},
    "the west": {"run_at": "2027-01-01T00:00:00.123456789-12:00"},
    "lower case and a blank": {"run_at": "2027-01-01 00:00:00z"},
    "depth 100": {"payload": json.loads('{"a": ' + "[" * 99 + "]" * 99 + "}")},
    "100 after": {"retry": {"max_attempts": 1000, "non_retryable": ["E"] * 50}},
}


@pytest.mark.parametrize("name", GOOD)
async def test_what_is_within_the_bounds(api: Caller, name: str, job_id: str) -> None:
    fields = {"kind": "echo", "queue": api.queue, "delay": "1h"} | GOOD[name]
    if "run_at" in GOOD[name]:
        del fields["delay"]
    if fields.get("id"):
        fields["id"] = f"{job_id}-{fields['id']}"[:200]
    answer = await api.post(fields)
    assert answer.status_code == 201, answer.text
    job = await api.get(answer.json()["id"])
    for echoed in ("kind", "payload", "tags", "priority"):
        if echoed in fields:
            assert job[echoed] == fields[echoed]


async def test_a_payload_over_its_bound_is_413_and_names_it(api: Caller) -> None:
    frame = len('{"a":""}')
    fits = {"a": "é" * ((256 * 1024 - frame) // 2)}
    assert (await api.post({"kind": "echo", "queue": api.queue, "payload": fits})).status_code == 201
    over = {"a": fits["a"] + "x"}
    refusal = problem(await api.post({"kind": "echo", "queue": api.queue, "payload": over}), 413, "too-large")
    assert "262,144" in refusal["detail"] and "262,145" in refusal["detail"]
