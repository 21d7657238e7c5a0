"""Zone names: what is one, what is told to who wrote something else, and where the definitions come from."""

import zoneinfo
from datetime import UTC, datetime

import pytest

from duetime.contracts.zones import zone_of
from duetime.cron import ZONES_VERSION, ZoneError, check_zone, load_zone
from duetime.cron.zones import definition, names


def test_every_listed_name_loads() -> None:
    assert len(names()) > 500
    for name in names():
        zone = load_zone(name)
        assert zone.key == name
        assert zone.utcoffset(datetime(2026, 1, 1)) is not None
    assert {"UTC", "Europe/Paris", "America/Argentina/ComodRivadavia"} < names()


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("Mars/Olympus", "Europe/Paris"),
        ("america/new_york", "'America/New_York'"),
        ("Europe/Berlin ", "'Europe/Berlin'"),
        ("Europe/Pariss", "'Europe/Paris'"),
        ("America/New York", "'America/New_York'"),
        ("utc", "'UTC'"),
        ("UTC+3", "an offset is not a place"),
        ("+03:00", "an offset is not a place"),
        ("GMT-5", "an offset is not a place"),
        ("PST", "America/Los_Angeles"),
        ("cest", "Europe/Berlin"),
        ("IST", "Asia/Kolkata"),
        ("EST5EDT4", "EST5EDT"),
        ("", "Europe/Paris"),
        ("../../etc/passwd", None),
        ("/etc/localtime", None),
        ("Europe/../UTC", None),
        ("tzdata.zi", None),
        ("zone.tab", None),
        ("zones", None),
        ("leapseconds", None),
        ("Factory", None),
        ("__init__.py", None),
        ("Europe", None),
        ("a\x00b", None),
        ("UTC\n", "'UTC'"),
        ("\ud800", None),
        ("x" * 5_000, None),
    ],
)
def test_what_is_no_zone(name: str, way_out: str | None) -> None:
    with pytest.raises(ZoneError) as caught:
        check_zone(name)
    assert len(str(caught.value)) < 300
    assert (way_out or "") in caught.value.hint
    with pytest.raises(ZoneError):
        load_zone(name)


@pytest.mark.parametrize("name", [None, 5, b"UTC", ["UTC"]])
def test_what_is_no_name(name: object) -> None:
    with pytest.raises(ZoneError):
        check_zone(name)


@pytest.mark.parametrize("name", ["EST", "MST", "HST"])
def test_a_fixed_abbreviation_is_accepted_with_a_warning(name: str) -> None:
    (warning,) = check_zone(name)
    assert "without daylight saving" in warning
    summer, winter = datetime(2026, 7, 1), datetime(2026, 1, 1)
    assert load_zone(name).utcoffset(summer) == load_zone(name).utcoffset(winter)


@pytest.mark.parametrize("name", ["UTC", "Europe/Paris", "EST5EDT", "Etc/GMT+5", "CET"])
def test_other_zones_raise_none(name: str) -> None:
    assert check_zone(name) == ()


def test_the_machine_s_database_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    zoneinfo.reset_tzpath(to=[str(tmp_path)])
    try:
        zone_of.cache_clear()
        assert load_zone("Europe/Paris").utcoffset(datetime(2026, 7, 1, tzinfo=UTC)) is not None
    finally:
        zoneinfo.reset_tzpath()


def test_the_edition_is_known_and_the_definition_is_the_file_itself() -> None:
    assert ZONES_VERSION[:4].isdigit()
    assert definition("America/New_York").startswith(b"TZif")
