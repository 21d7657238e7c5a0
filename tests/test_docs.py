"""The guides as a whole: each can be found, and every link leads somewhere."""

from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.markdown import anchors, links

ROOT = Path(__file__).resolve().parent.parent
#: What a reader starts from.
DOORS = [path for path in (ROOT / "README.md", ROOT / "docs/README.md") if path.exists()]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")])


def target(page: Path, link: str) -> tuple[Path, str] | None:
    """The file and the anchor that a link leads to; `None` when it leaves the project."""
    if "://" in link or link.startswith("mailto:"):
        return None
    path, _, anchor = unquote(link).partition("#")
    return (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for link in links(page.read_text()):
        if (found := target(page, link)) is None:
            continue
        path, anchor = found
        if not path.exists() or (anchor and anchor not in anchors(path)):
            lost.append(link)
    assert lost == []


def test_every_guide_is_linked_from_a_door() -> None:
    linked = {
        found[0]
        for door in DOORS
        for link in links(door.read_text())
        if (found := target(door, link)) is not None
    }
    guides = set((ROOT / "docs").glob("*.md")) - set(DOORS)
    assert len(guides) > 10
    assert sorted(path.name for path in guides - linked) == []


def test_decisions_are_within_reach_of_the_door() -> None:
    linked = {
        found[0]
        for link in links((ROOT / "README.md").read_text())
        if (found := target(ROOT / "README.md", link))
    }
    assert ROOT / "docs/decisions" in linked
