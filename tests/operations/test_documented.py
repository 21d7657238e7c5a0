"""The guide to queues lists every place, word and reason, and its examples are of the real shape."""

import json
import re
from enum import StrEnum
from pathlib import Path

import pytest

from api.queues.buckets import Bucket
from duetime.contracts.queues import Health, QueueView
from duetime.contracts.why import Reason, WhyView

GUIDE = (Path(__file__).parents[2] / "docs/queues.md").read_text()


def listed(head: str) -> list[str]:
    """The first column of the table with this head."""
    table = GUIDE[GUIDE.index(f"| {head} |") :].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


@pytest.mark.parametrize(("head", "known"), [("place", Bucket), ("health", Health), ("reason", Reason)])
def test_every_word_is_explained(head: str, known: type[StrEnum]) -> None:
    assert sorted(listed(head)) == sorted(word.value for word in known)


def test_health_is_explained_in_the_order_in_which_it_is_decided() -> None:
    assert listed("health") == [health.value for health in Health]


def test_the_examples_have_the_real_shape() -> None:
    queue, why = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
    assert set(queue) == set(QueueView.model_fields)
    view = QueueView.model_validate(queue)
    assert view.jobs.open == queue["jobs"]["open"] and set(queue["jobs"]) == {*Bucket, "open"}
    answer = WhyView.model_validate(why)
    assert set(why) == set(WhyView.model_fields)
    assert [one.reason for one in answer.blocked] == ["queue_paused", "no_worker"]
