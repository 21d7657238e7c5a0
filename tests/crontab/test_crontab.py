"""Crontabs as cron reads them, and as schedules."""

import json
from pathlib import Path
from typing import Any

import pytest

from activities.command.request import CommandRequest
from duetime.cli.exits import Exit
from duetime.cli.main import run
from duetime.contracts.schedule_sets import ScheduleSet
from duetime.cron import RuleError
from duetime.crontab import Entry, import_crontab, read_crontab


def entries(text: str, *, system: bool = False) -> list[Entry]:
    found, remarks = read_crontab(text, system=system)
    assert [remark for remark in remarks if remark.is_refused] == []
    return found


def only(line: str, *, system: bool = False) -> Entry:
    (entry,) = entries(line + "\n", system=system)
    return entry


@pytest.mark.parametrize(
    ("line", "command", "stdin"),
    [
        ("0 0 * * * date", "date", None),
        ("\t0\t0 *  * *\t\tdate -u ", "date -u ", None),
        ("0 0 * * * mail -s hi%Dear%%all", "mail -s hi", "Dear\n\nall\n"),
        ("0 0 * * * cat%", "cat", ""),
        ("0 0 * * * cat%a%", "cat", "a\n"),
        (r"0 0 * * * date +\%F", "date +%F", None),
        (r"0 0 * * * echo '\%' \n%50\% off", r"echo '%' \n", "50% off\n"),
        (r"0 0 * * * echo \\%a\b", r"echo \\", "a\\b\n"),
        ("0 0 * * * date # not a comment", "date # not a comment", None),
        ("0 0 * * * A=1 date", "A=1 date", None),
        ("@daily date", "date", None),
    ],
)
def test_an_unescaped_percent_sign_begins_the_input(line: str, command: str, stdin: str | None) -> None:
    entry = only(line)
    assert (entry.command, entry.stdin) == (command, stdin)


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("A=b", "A", "b"),
        ("  A = b c ", "A", "b c"),
        ('A="b c "', "A", "b c "),
        ("A='b \"c\"'  ", "A", 'b "c"'),
        ('"A B" = c', "A B", "c"),
        ("A=", "A", ""),
        ('A=""', "A", ""),
        ("A=$B/c # d", "A", "$B/c # d"),
    ],
)
def test_settings_are_what_they_say_and_no_more(line: str, name: str, value: str) -> None:
    assert only(f"{line}\n0 0 * * * date").settings == {name: value}


def test_a_setting_holds_for_the_lines_after_it() -> None:
    first, second = entries("A=1\n0 0 * * * date\nA=2\nB=3\n# A=4\n\n0 1 * * * date\n")
    assert (first.settings, second.settings) == ({"A": "1"}, {"A": "2", "B": "3"})


def test_a_system_crontab_names_users() -> None:
    entry = only("17 *\t* * *\troot    cd / && run-parts", system=True)
    assert (entry.schedule, entry.user, entry.command) == ("17 * * * *", "root", "cd / && run-parts")
    assert only("@weekly  root  date", system=True).user == "root"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 0 * * date", "has no command"),
        ("0 0 *", "fewer than five fields"),
        ("@daily", "has no command"),
        ("* * * * * * date", "begins with a star"),
        ('A="b" c', "fewer than five fields"),
        ("0 25 * * * date", "hour: 25 is not in 0-23 (column 3)"),
        ("0 22-5 * * * date", "22-23,0-5"),
        ("0 0 31 2 * date", "never fires"),
        ("@reboot date", "a distributed scheduler has no boot"),
        ("CRON_TZ=Mars/Olympus\n0 0 * * * date", "unknown time zone"),
    ],
)
def test_a_line_that_is_no_job_is_told_and_the_others_come_through(line: str, said: str) -> None:
    found = import_crontab(f"{line}\nCRON_TZ=UTC\n0 1 * * * date\n")
    assert not found.is_whole
    assert [schedule["cron"] for schedule in found.schedules] == ["0 1 * * *"]
    (remark,) = [remark for remark in found.remarks if remark.is_refused]
    assert remark.line == 1 + line.count("\n")
    assert said in remark.text


def test_line_ends_of_other_systems_are_taken_off_and_told() -> None:
    found = import_crontab("0 0 * * * date\r\n0 1 * * * date -u")
    assert [schedule["job"]["payload"]["shell"] for schedule in found.schedules] == ["date", "date -u"]
    said = {remark.line: remark.text for remark in found.remarks}
    assert "carriage return" in said[1]
    assert "no end of line" in said[2]


def test_a_schedule_does_what_cron_did() -> None:
    text = """
SHELL=/bin/bash
MAILTO=ops@example.org
CRON_TZ=Asia/Tokyo
PATH=/opt/bin:/bin
RANDOM_DELAY=7
30 4 1,15 * 5 /opt/bin/backup.sh --all%yes
"""
    (schedule,) = import_crontab(text, queue="machines", prefix="db1-", name="root").schedules
    assert schedule == {
        "id": schedule["id"],
        "cron": "30 4 1,15 * 5",
        "timezone": "Asia/Tokyo",
        "jitter": "7m",
        "jitter_mode": "stable",
        "overlap": "allow",
        "catch_up": {"policy": "none"},
        "note": "root, line 7",
        "job": {
            "kind": "command",
            "queue": "machines",
            "payload": {
                "argv": ["/bin/bash", "-c", "/opt/bin/backup.sh --all"],
                "stdin": "yes\n",
                "env": {"PATH": "/opt/bin:/bin"},
            },
            "retry": {"max_attempts": 1},
        },
    }
    assert schedule["id"].startswith("db1-backup-sh-")
    said = [remark.text for remark in import_crontab(text).remarks]
    assert any("not sent to ops@example.org" in text for text in said)
    assert any("both day fields" in text for text in said)


def test_every_schedule_is_one_that_the_api_takes() -> None:
    found = import_crontab("A=b\n*/5 * * * * x=$(date) && echo $x%a\n@hourly date\n")
    for named in ScheduleSet.model_validate({"schedules": found.schedules}).schedules:
        assert CommandRequest.model_validate(named.job.payload).shell


def test_ids_follow_the_command_and_not_the_line_or_the_time() -> None:
    def ids(text: str) -> list[str]:
        return [schedule["id"] for schedule in import_crontab(text).schedules]

    one, other = ids("0 0 * * * /bin/one\n0 0 * * * /bin/other\n")
    assert ids("# moved\n5 5 * * * /bin/other\n6 6 * * * /bin/one\n") == [other, one]
    assert ids("0 0 * * * /bin/one\n0 1 * * * /bin/one\n") == [one, f"{one}-2"]
    assert ids("0 0 * * * [ -x /bin/x ] && /bin/x\n")[0].startswith("command-")


def test_a_zone_is_asked_for_where_none_is_named() -> None:
    def zones(text: str, **options: Any) -> tuple[list[str | None], bool]:
        found = import_crontab(text, **options)
        return [schedule.get("timezone") for schedule in found.schedules], bool(found.remarks)

    assert zones("0 0 * * * date\n") == ([None], True)
    assert zones("0 0 * * * date\n", timezone="Europe/Paris") == (["Europe/Paris"], False)
    assert zones("CRON_TZ=UTC\n0 0 * * * date\n", timezone="Europe/Paris") == (["UTC"], False)
    with pytest.raises(RuleError):
        import_crontab("", timezone="Mars/Olympus")


def test_the_command_prints_what_apply_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jobs"
    file.write_text("0 2 * * * /bin/backup\n@reboot /bin/boot\n")
    assert (
        run(["schedules", "from-crontab", str(file), "-z", "Europe/Paris", "--prefix", "a-"])
        == Exit.JOB_FAILED
    )
    said = capsys.readouterr()
    (schedule,) = json.loads(said.out)["schedules"]
    assert (schedule["cron"], schedule["timezone"]) == ("0 2 * * *", "Europe/Paris")
    assert "line 2: NOT IMPORTED: '@reboot'" in said.err
    assert run(["schedules", "from-crontab", str(file), "-z", "Paris"]) == Exit.USAGE
    assert "--timezone" in capsys.readouterr().err
