"""Who is next, who has a place, and how a lost one comes back: the pure part."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from activities.limit_places import GONE, HOLDS, IDLE
from duetime.contracts import limits
from duetime.contracts.concurrency import (
    ALL_ASKS,
    Ask,
    Changed,
    Left,
    chain_of,
    limit_of_key,
    limit_of_queue,
    scope_of,
)
from workflows.places import FIRST_LOOK, LONGEST_LOOK_AWAY, Places

NOW = datetime(2026, 11, 30, tzinfo=UTC)
MANY = 100


def ask(
    job: str, since: int = 0, *, priority: int = 3, limit: int = 1, at: int = 0, chain: str = "c", n: int = 1
) -> Ask:
    return Ask(job=job, chain=chain, number=n, priority=priority, since=since, limit=limit, limit_at=at)


def left(job: str, *, chain: str = "c", n: int = 1) -> Left:
    return Left(job=job, chain=chain, number=n)


def granted(places: Places, now: datetime = NOW) -> list[str]:
    return [place.job for place in places.grant(now, MANY)]


def with_jobs(*asks: Ask) -> Places:
    places = Places()
    for one in asks:
        places.ask(one, NOW)
    return places


def test_first_come_first_served_within_a_priority() -> None:
    places = with_jobs(
        ask("late", 3), ask("urgent", 9, priority=1), ask("early", 1), ask("later", 4, priority=4)
    )
    order = []
    while places.has_news:
        (job,) = granted(places)
        order.append(job)
        places.leave(left(job), NOW)
    assert order == ["urgent", "early", "late", "later"]
    assert places.is_empty


def test_no_more_than_the_limit_have_a_place() -> None:
    places = with_jobs(*(ask(f"j{i}", i, limit=3) for i in range(5)))
    assert granted(places) == ["j0", "j1", "j2"] and not places.has_news
    places.leave(left("j1"), NOW)
    assert granted(places) == ["j3"]


def test_what_the_job_accepted_last_says_holds_whoever_asks_last() -> None:
    places = with_jobs(
        ask("new", 0, limit=2, at=20), ask("old", 1, limit=5, at=10), ask("other", 2, limit=5, at=5)
    )
    assert places.limit == 2 and granted(places) == ["new", "old"]
    places.change(Changed(limit=None, at=30))
    assert granted(places) == ["other"]
    places.change(Changed(limit=1, at=29))
    assert places.limit is None


def test_a_lower_limit_takes_no_place_from_anybody() -> None:
    places = with_jobs(*(ask(f"j{i}", i, limit=3) for i in range(4)))
    granted(places)
    places.ask(ask("j9", 9, limit=1, at=1), NOW)
    for job in ("j0", "j1"):
        places.leave(left(job), NOW)
        assert not places.has_news
    places.leave(left("j2"), NOW)
    assert granted(places) == ["j3"]


def test_whoever_asks_again_is_told_again_and_keeps_one_place() -> None:
    places = with_jobs(ask("a", limit=2), ask("a", limit=2))
    assert granted(places) == ["a"]
    places.ask(ask("a", limit=2, n=2), NOW)
    (place,) = places.grant(NOW, MANY)
    assert place.number == 2 and places.view().held == 1
    places.ask(ask("a", limit=2, n=1), NOW)  # an old one that was long on its way
    assert not places.has_news
    places.leave(left("a", n=1), NOW)
    assert places.view().held == 1
    places.leave(left("a", n=ALL_ASKS), NOW)
    assert places.is_empty


def test_a_new_priority_moves_a_job_in_the_line() -> None:
    places = with_jobs(ask("holder"), ask("a", 1), ask("b", 2))
    granted(places)
    assert places.view("b").position == 2
    places.ask(ask("b", 2, priority=1), NOW)
    view = places.view("b")
    assert (view.position, view.waiting, view.held, view.limit) == (1, 2, 1, 1)
    assert places.view("holder").has_place and places.view("holder").position is None


def test_the_next_job_of_an_id_gets_no_place_of_the_one_before() -> None:
    places = with_jobs(ask("a", 0), ask("b", 1))
    granted(places)
    places.ask(ask("a", 2, chain="new"), NOW)
    assert granted(places) == ["b"]
    places.leave(left("a", chain="c", n=ALL_ASKS), NOW)
    assert places.view("a").position == 1
    places.leave(left("b"), NOW)
    assert granted(places) == ["a"]


def test_a_job_that_has_ended_loses_its_place_at_the_first_look() -> None:
    places = with_jobs(ask("a", 0), ask("b", 1))
    granted(places)
    assert places.next_look() == NOW + FIRST_LOOK
    (place,) = places.to_look_at(NOW + FIRST_LOOK, MANY)
    places.looked(place, GONE, NOW)
    assert granted(places) == ["b"]


def test_the_place_of_one_who_may_be_at_work_lapses_with_its_lease() -> None:
    """Found gone, replaced under its id, or ended by force: each handler stops when its lease runs out."""
    for how in ("gone", "replaced", "forced"):
        leased = ask("a", 0).model_copy(update={"lease": 30.0})
        places = with_jobs(leased, ask("b", 1))
        (place,) = places.grant(NOW, MANY)
        if how == "gone":
            places.looked(place, GONE, NOW)
        elif how == "replaced":
            places.ask(ask("a", 2, chain="new"), NOW)
        else:
            places.leave(Left(job="a", chain="c", number=ALL_ASKS, lapses=True), NOW)
        places = Places.unpack(places.pack())
        assert not places.has_news and places.view().held == 1
        assert places.next_look() == NOW + timedelta(seconds=30) and places.to_look_at(NOW, MANY) == []
        places.expire(NOW + timedelta(seconds=29))
        assert not places.has_news and not places.is_empty
        places.expire(NOW + timedelta(seconds=30))
        assert granted(places) == ["b"]


def test_a_job_without_an_attempt_loses_its_place_at_the_second_look() -> None:
    places = with_jobs(ask("a", 0), ask("b", 1))
    (place,) = places.grant(NOW, MANY)
    places.looked(place, IDLE, NOW)
    assert not places.has_news
    places.looked(place, HOLDS, NOW)
    places.looked(place, IDLE, NOW)
    assert not places.has_news
    places.looked(place, IDLE, NOW)
    assert granted(places) == ["b"]


def test_looks_at_one_who_is_at_work_grow_rare() -> None:
    places = with_jobs(ask("a"))
    (place,) = places.grant(NOW, MANY)
    now, away = NOW, []
    for _ in range(8):
        due = places.next_look()
        assert due is not None
        away.append(due - now)
        now = due
        assert places.to_look_at(now, MANY) == [place]
        places.looked(place, HOLDS, now)
    assert away[0] == FIRST_LOOK and away[-1] == LONGEST_LOOK_AWAY and sorted(away) == away


def test_a_look_that_comes_back_late_takes_nothing_from_the_next() -> None:
    places = with_jobs(ask("a"))
    (before,) = places.grant(NOW, MANY)
    places.leave(left("a"), NOW)
    places.ask(ask("a", n=2), NOW)
    granted(places)
    places.looked(before, GONE, NOW)
    assert places.view("a").has_place


def test_more_than_can_be_told_at_once_are_told_in_turns() -> None:
    places = with_jobs(*(ask(f"j{i:03}", i, limit=1000) for i in range(250)))
    told = []
    while places.has_news:
        batch = places.grant(NOW, MANY)
        assert 0 < len(batch) <= MANY
        told += [place.job for place in batch]
    assert told == [f"j{i:03}" for i in range(250)]


def test_the_line_has_a_bound_and_room_again() -> None:
    places = with_jobs(ask("holder"))
    granted(places)
    fits = (limits.LINE_BYTES - 106) // 300
    for i in range(fits + 10):
        places.ask(ask(f"{i:0200}", i), NOW)
    assert places.view().waiting == fits
    places.leave(left(f"{3:0200}"), NOW)
    places.ask(ask("z" * 200), NOW)
    assert places.view("z" * 200).position is not None
    assert Places.unpack(places.pack()).view().waiting == fits


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_said_no_place_is_lost_and_the_next_run_knows_it_all(seed: int) -> None:
    chance, places, limit = random.Random(seed), Places(), 3
    has: set[str] = set()
    numbers: dict[str, int] = {}
    for step in range(2_000):
        job = f"j{chance.randrange(12)}"
        match chance.randrange(4):
            case 0 if job not in has:
                numbers[job] = numbers.get(job, 0) + 1
                places.ask(ask(job, step, priority=chance.randint(1, 5), limit=limit, n=numbers[job]), NOW)
            case 1 if job in numbers:
                places.leave(left(job, n=numbers[job]), NOW)
                has.discard(job)
            case 2:
                for place in places.grant(NOW + timedelta(seconds=step), MANY):
                    assert place.number == numbers[place.job]
                    has.add(place.job)
            case 3:
                packed = places.pack()
                places = Places.unpack(packed)
                assert places.pack() == packed
        view = places.view()
        assert len(has) <= view.held <= limit
        assert view.held == limit or view.waiting == 0 or places.has_news
    for job, number in numbers.items():
        places.leave(left(job, n=number), NOW)
    assert places.is_empty and places._bytes == 0


@pytest.mark.parametrize("key", ["tenant-42", "a b/c?%=3D=é\n~", "x" * 64, "ключ"])
def test_a_limit_is_found_by_its_key(key: str) -> None:
    assert scope_of(limit_of_key(key)) == ("key", key)
    assert limit_of_key(key) != limit_of_queue(key)
    assert scope_of(limit_of_queue("mail")) == ("queue", "mail")


def test_runs_that_begin_in_the_same_second_are_told_apart() -> None:
    assert chain_of("019a1b2c-3d4e-7f50-8a61-b2c3d4e5f607") != chain_of(
        "019a1b2c-3d4e-7f50-8a61-b2c3d4e5f608"
    )
