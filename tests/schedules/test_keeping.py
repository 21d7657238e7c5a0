"""Creating, replacing, reading, listing and deleting."""

from tests.api.caller import faults, problem
from tests.schedules.conftest import Scheduler


async def test_a_schedule_comes_back_as_it_was_given(schedule: Scheduler) -> None:
    spec = schedule.spec(cron="0 2 * * MON-FRI", timezone="America/New_York", jitter="120s", note="for the board")
    answer = await schedule.http.put(schedule.path, json=spec)
    assert answer.status_code == 201, answer.text
    assert answer.headers["etag"] == '"1"' and answer.headers["location"] == schedule.path
    found = await schedule.get()
    assert found["spec"] == spec
    assert found["state"] == "active" and found["revision"] == 1
    assert "02:00" in found["in_words"]
    assert len(found["next"]) == 10
