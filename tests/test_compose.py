"""The Compose file, held to its schema, to the rules that no schema has, and to our settings.

No container engine is needed: what is checked here is everything that can be wrong before one starts.
"""

import importlib.resources
import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry

from tests.compose import COMPOSE, OURS, ROOT, SERVICES, TEXT, VARIABLE, environment

#: Of the programs in each image, those that health checks may use.
TOOLS = {"postgres": {"pg_isready"}, "temporalio/server": {"nc"}, "duetime": {"python"}}


def test_the_file_is_what_the_compose_schema_allows() -> None:
    vendored = importlib.resources.files("check_jsonschema.builtin_schemas.vendor") / "compose-spec.json"
    schema = json.loads(vendored.read_text())
    validator = jsonschema.validators.validator_for(schema)(schema, registry=Registry())
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(COMPOSE)] == []


def test_it_starts_with_no_configuration() -> None:
    assert [match[0] for match in VARIABLE.finditer(TEXT) if match[2] is None] == []
    assert "$" not in VARIABLE.sub("", TEXT)


def test_ports_are_published_on_loopback_alone_and_each_once() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert [port for port in published if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)] == []
    hosts = [port.split(":")[1] for port in published]
    assert sorted(hosts) == sorted(set(hosts))
    assert "ports" not in SERVICES["postgres"], "the databases are nobody's business outside"


def test_there_are_two_of_what_may_be_killed() -> None:
    counts: dict[str, int] = {}
    for name in OURS:
        command = " ".join(SERVICES[name]["command"])
        counts[command] = counts.get(command, 0) + SERVICES[name].get("deploy", {}).get("replicas", 1)
    assert counts == {"python -m api": 2, "python worker.py": 2}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_waits_for_what_can_come_true(name: str) -> None:
    """The schema knows neither which services there are nor which of them can be healthy, or end."""
    for other, wait in SERVICES[name].get("depends_on", {}).items():
        service = SERVICES[other]
        if wait["condition"] == "service_healthy":
            assert "healthcheck" in service, f"{other} has no health check"
        else:
            assert wait["condition"] == "service_completed_successfully"
            assert service["restart"].startswith("on-failure"), f"{other} never ends"


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_mounted_exists(name: str) -> None:
    for volume in SERVICES[name].get("volumes", []):
        source, target, *mode = volume.split(":")
        if not source.startswith("."):
            assert source in COMPOSE["volumes"]
            continue
        assert mode == ["ro"]
        assert (ROOT / source).is_dir(), "a file that an editor replaces would stay mounted as it was"
        named = [*SERVICES[name].get("command", []), *environment(name).values()]
        inside = [Path(path).relative_to(target) for path in named if path.startswith(f"{target}/")]
        assert inside
        assert [path for path in inside if not (ROOT / source / path).is_file()] == []


def test_health_checks_use_what_their_image_holds() -> None:
    given = {name: service.get("healthcheck", {}).get("test") for name, service in SERVICES.items()}
    checks = {name: test for name, test in given.items() if test}
    assert {"postgres", "temporal"} <= set(checks)
    for name, (form, program, *_) in checks.items():
        image, _, _ = SERVICES[name]["image"].rpartition(":")
        assert form == "CMD"
        assert program in TOOLS[image], f"{name}: no {program} in {image}"


@pytest.mark.parametrize("name", OURS)
def test_settings_are_understood_as_meant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("duetime.settings", reason="the settings are not written yet")
    given = {key: value for key, value in environment(name).items() if key.startswith("DUETIME_")}
    assert set(given) <= set(module.known_variables())
    for variable in [key for key in os.environ if key.startswith("DUETIME_")]:
        monkeypatch.delenv(variable)
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    settings = module.load_settings(env_file=None)

    host, _, port = settings.temporal_target.partition(":")
    assert SERVICES[host]["ports"][0].endswith(f":{port}")
    assert settings.temporal_namespace == environment("temporal-namespace")["TEMPORAL_NAMESPACE"]
    user, password, database = (
        environment("postgres")[f"POSTGRES_{part}"] for part in ("USER", "PASSWORD", "DB")
    )
    assert settings.ledger_address == f"postgresql+psycopg://{user}:{password}@postgres:5432/{database}"
    if "ports" in SERVICES[name]:
        assert settings.api_host == "0.0.0.0", "what listens on the container's loopback cannot be published"
        assert SERVICES[name]["ports"][0].endswith(f":{settings.api_port}")
        assert set(settings.api_names) == {other for other in OURS if "ports" in SERVICES[other]}
        module = pytest.importorskip("api.security.lock")
        assert module.lock_of(settings).access == "open", (
            "no keys are made, so it must say that it needs none"
        )


def test_variables_of_ours_that_the_file_reads_are_settings() -> None:
    """They may stand in a `.env` file, which `make run` reads too, and warns of what it does not know."""
    module = pytest.importorskip("duetime.settings", reason="the settings are not written yet")
    named = {match[1] for match in VARIABLE.finditer(TEXT) if match[1].startswith("DUETIME_")}
    assert named <= set(module.known_variables())
