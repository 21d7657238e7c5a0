"""What a browser sends on behalf of another site's page changes nothing."""

import pytest

from tests.api.caller import Caller, problem

REFUSED = {
    "cross-site": {"Sec-Fetch-Site": "cross-site"},
    "same-site": {"Sec-Fetch-Site": "same-site", "Origin": "http://other.localhost"},
    "an old browser": {"Origin": "http://evil.example"},
    "another port": {"Origin": "http://localhost:8080"},
    "a file or sandbox": {"Origin": "null"},
    "nonsense": {"Sec-Fetch-Site": "?"},
}
TAKEN = {
    "a program": {},
    "a page of ours": {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"},
    "typed by hand": {"Sec-Fetch-Site": "none"},
    "an old browser on a page of ours": {"Origin": "http://LOCALHOST"},
}


@pytest.mark.parametrize("name", REFUSED)
async def test_another_sites_page_changes_nothing(api: Caller, name: str) -> None:
    """A form's POST without a body is what needs no preflight."""
    accepted = await api.submit(delay="1h")
    answer = await api.http.post(f"/v1/jobs/{accepted['id']}:cancel", headers=REFUSED[name])
    problem(answer, 403, "cross-site")
    read = await api.http.get(f"/v1/jobs/{accepted['id']}", headers=REFUSED[name])
    assert read.json()["state"] == "scheduled"


@pytest.mark.parametrize("name", TAKEN)
async def test_programs_and_our_own_pages_do(api: Caller, name: str) -> None:
    accepted = await api.submit(delay="1h")
    answer = await api.http.post(f"/v1/jobs/{accepted['id']}:cancel", headers=TAKEN[name])
    assert answer.json()["state"] == "cancelled"
