"""Every route of the OpenAPI document × every caller. A route that nobody thought of fails here."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts

from api.app import create_app
from api.security.keys import new_secret
from api.security.scopes import Scope, granted, needs, public
from api.strict import StrictRoute
from tests.security.keyring import HOUR, Keyring, bearer, settings

#: What is not as the rule has it: reading takes `read`, everything else `operate`. `None` is for everyone.
EXCEPTIONS: dict[str, str | None] = {
    "GET /healthz": None,
    "GET /readyz": None,
    "POST /v1/jobs": "submit",
    "POST /v1/jobs:batch": "submit",
    "POST /v1/pipelines": "submit",
    "POST /v1/schedules:preview": "read",
}
#: What FastAPI adds by itself. It tells how the API is made, which is no secret.
FRAMEWORK = {"/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc"}

with TemporaryDirectory() as directory:
    KEYED = create_app(settings(api_keys_file=Keyring(Path(directory) / "keys.json").path))
DOCUMENT: dict[str, Any] = KEYED.openapi()
ROUTES = sorted(
    f"{method.upper()} {path}" for path, operations in DOCUMENT["paths"].items() for method in operations
)


def wanted(route: str) -> str | None:
    """The scope that a route must ask for."""
    return EXCEPTIONS.get(route, "read" if route.startswith("GET ") else "operate")


def operation(route: str) -> dict[str, Any]:
    method, path = route.split(" ")
    found: dict[str, Any] = DOCUMENT["paths"][path][method.lower()]
    return found


LOCKED = [route for route in ROUTES if wanted(route) is not None]


def test_the_exceptions_are_routes() -> None:
    """Those of branches that are not merged yet would hide a mistake."""
    assert set(EXCEPTIONS) <= set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_asks_for_what_the_rule_says_and_documents_it(route: str) -> None:
    scope = wanted(route)
    stated = operation(route)
    if scope is None:
        assert "security" not in stated
    else:
        assert stated["security"] == [{"key": [scope]}]
        assert {"401", "403", "429"} <= set(stated["responses"])
    assert DOCUMENT["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_without_keys_a_key_is_documented_as_something_that_one_may_leave_out() -> None:
    document = create_app(settings()).openapi()
    for path, operations in document["paths"].items():
        for method, stated in operations.items():
            scope = wanted(f"{method.upper()} {path}")
            assert stated.get("security") == ([{"key": [scope]}, {}] if scope else None)


def test_nothing_is_served_beside_the_routes_of_the_document() -> None:
    app = create_app(settings())
    for found in iter_route_contexts(app.routes):
        if isinstance(found.original_route, StrictRoute):
            assert found.original_route.include_in_schema, found.path
        else:
            assert found.path in FRAMEWORK, f"{found.path} has no gate"


async def call(http: httpx2.AsyncClient, route: str, headers: dict[str, str]) -> httpx2.Response:
    """The call with something in every place of the path, and a body if the route has one."""
    method, path = route.split(" ")
    while "{" in path:
        before, _, after = path.partition("{")
        path = f"{before}nobody-{after.partition('}')[2]}"
    json = {} if "requestBody" in operation(route) else None
    return await http.request(method, path, headers=headers, json=json)


def strangers(keyring: Keyring) -> Iterator[tuple[str, dict[str, str] | None]]:
    """Headers of those who hold no key that is good, and what tells them apart."""
    good = keyring.add("admin")
    key_id = good.split("_")[1]
    yield "no key", None
    yield "a key that nobody has", bearer(new_secret()[1])
    yield "the wrong secret", bearer(f"dt_{key_id}_{'x' * 43}")
    yield "cut short", bearer(good[:-1])
    yield "no bearer", {"Authorization": good}
    yield "basic", {"Authorization": f"Basic {good}"}
    yield "empty", {"Authorization": ""}
    yield "bearer of nothing", {"Authorization": "Bearer"}
    yield "not ASCII", {"Authorization": "Bearer dt_é"}
    yield "in another header", {"X-API-Key": good}
    yield "revoked", bearer(keyring.add("admin", revoked_at=datetime.now(UTC)))
    yield "expired", bearer(keyring.add("admin", expires_at=datetime.now(UTC) - HOUR))


@pytest.mark.parametrize("route", LOCKED)
async def test_strangers_stay_outside(route: str, http: httpx2.AsyncClient, keyring: Keyring) -> None:
    for who, headers in strangers(keyring):
        answer = await call(http, route, {k: v.encode("latin-1") for k, v in (headers or {}).items()})  # type: ignore[misc]
        assert answer.status_code == 401, who
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:duetime:problem:unauthorized"
        challenge = answer.headers["www-authenticate"]
        tried = who not in ("no key", "in another header")
        assert challenge == 'Bearer realm="duetime"' + (', error="invalid_token"' if tried else "")


@pytest.mark.parametrize("route", LOCKED)
async def test_a_key_opens_what_its_scopes_are_for_and_nothing_else(
    route: str, http: httpx2.AsyncClient, keyring: Keyring
) -> None:
    needed = Scope(str(wanted(route)))
    for scope in Scope:
        answer = await call(http, route, bearer(keyring.add(scope)))
        if needed in granted([scope]):
            assert answer.status_code not in (401, 403), scope
            assert answer.status_code < 500
            assert "ratelimit" in answer.headers
        else:
            assert answer.status_code == 403, scope
            assert f"a key with the scope `{needed}`; yours has {scope}" in answer.json()["detail"]
            told = f'Bearer realm="duetime", error="insufficient_scope", scope="{needed}"'
            assert answer.headers["www-authenticate"] == told


@pytest.mark.parametrize("route", sorted(set(ROUTES) - set(LOCKED)))
async def test_what_is_public_takes_no_key_and_minds_none(route: str, http: httpx2.AsyncClient) -> None:
    for headers in ({}, bearer("nonsense")):
        assert (await call(http, route, headers)).status_code == 200


async def test_how_the_api_is_made_is_no_secret(http: httpx2.AsyncClient) -> None:
    for path in ("/docs", "/openapi.json"):
        assert (await http.get(path)).status_code == 200
    assert (await http.get("/v1/nothing")).status_code == 404


async def test_a_stranger_is_refused_before_the_body_is_looked_at(http: httpx2.AsyncClient) -> None:
    for body, kind in (
        (b"{", "application/json"),
        (b"x", "text/plain"),
        (b"0" * 2_000_000, "application/json"),
    ):
        answer = await http.post("/v1/jobs", content=body, headers={"Content-Type": kind})
        assert answer.status_code == 401


async def test_two_keys_are_no_key(http: httpx2.AsyncClient, keyring: Keyring) -> None:
    good = keyring.add("admin")
    headers = [("Authorization", f"Bearer {good}"), ("Authorization", f"Bearer {good}")]
    answer = await http.get("/v1/kinds", headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (
        401,
        "there are two Authorization headers: send one",
    )


async def test_the_word_bearer_is_written_as_one_likes(http: httpx2.AsyncClient, keyring: Keyring) -> None:
    for scheme in ("bearer", "BEARER", "Bearer "):
        headers = {"Authorization": f"{scheme} {keyring.add('read')}"}
        assert (await http.get("/v1/kinds", headers=headers)).status_code == 200


# --- a route that nobody thought of ---


def test_a_route_that_states_nothing_cannot_be_made() -> None:
    router = APIRouter(route_class=StrictRoute)

    async def forgotten() -> None: ...

    with pytest.raises(TypeError, match=r"test_matrix\.forgotten states no scope: put @needs\(Scope\.…\)"):
        router.get("/forgotten")(forgotten)
    router.get("/remembered")(needs(Scope.READ)(forgotten))


async def test_a_gate_that_is_missing_lets_nobody_in() -> None:
    """An app that nobody gave a lock fails; it does not stand open."""
    router = APIRouter(route_class=StrictRoute)

    @router.get("/open")
    @public
    async def open_() -> None: ...

    app = FastAPI()
    app.include_router(router)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        assert (await http.get("/open")).status_code == 500
