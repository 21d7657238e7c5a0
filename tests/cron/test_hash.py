"""`H`: a time chosen by the schedule's id, once and for all."""

import subprocess
import sys

import pytest

from duetime.cron import Cron, CronError, parse
from duetime.cron.bits import from_bits


def read(text: str, schedule_id: str = "nightly-report") -> Cron:
    line = parse(text, schedule_id)
    assert isinstance(line, Cron)
    return line


def test_the_choice_is_written_in_stone() -> None:
    # A release that changes these moves every schedule that uses H.
    line = read("H H H H H")
    assert line.times == (23 * 3600 + 4 * 60,)
    assert list(from_bits(line.days.dates.plain)) == [14]
    assert list(from_bits(line.months)) == [12]
    assert list(from_bits(line.days.weekdays.plain)) == [6]


def test_another_process_chooses_the_same() -> None:
    code = "from duetime.cron import parse; print(parse('H H * * *', 'nightly-report').times)"
    answer = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stdout.strip() == str(read("H H * * *").times)


def test_ids_spread_evenly_over_the_hour() -> None:
    minutes = [read("H * * * *", f"schedule-{number}").times[0] // 60 for number in range(6_000)]
    counts = [minutes.count(minute) for minute in range(60)]
    assert 60 < min(counts) <= max(counts) < 150


@pytest.mark.parametrize(
    ("minute", "low", "high", "step"),
    [
        ("H", 0, 59, 60),
        ("H/15", 0, 59, 15),
        ("H(0-29)", 0, 29, 60),
        ("H(10-39)/10", 10, 39, 10),
        ("h/7", 0, 59, 7),
    ],
)
def test_steps_and_ranges(minute: str, low: int, high: int, step: int) -> None:
    for number in range(50):
        values = list(from_bits(read(f"{minute} * * * *", str(number)).minutes))
        assert low <= values[0] < low + step
        assert values == list(range(values[0], high + 1, step))


def test_days_chosen_exist_in_every_month() -> None:
    assert all(max(from_bits(read("0 0 H * *", str(number)).days.dates.plain)) <= 28 for number in range(200))


def test_fields_choose_apart_from_each_other() -> None:
    assert any(
        [*from_bits(line.minutes)] != [*from_bits(line.seconds)]
        for line in (read("H H * * * *", str(number)) for number in range(5))
    )


def test_a_hash_is_no_star() -> None:
    assert not read("H H * * *").follows_clock
    assert read("0 0 H * 1").days.both_must_match is False


def test_without_an_id_there_is_nothing_to_choose_by() -> None:
    with pytest.raises(CronError, match="id") as caught:
        parse("0 H * * *")
    assert (caught.value.column, caught.value.token) == (3, "H")


@pytest.mark.parametrize("minute", ["H(29)", "H(30-20)", "H(0-60)", "H()", "H(0-29", "HH", "H-5", "H/0"])
def test_what_is_no_hash(minute: str) -> None:
    with pytest.raises(CronError):
        read(f"{minute} * * * *")
