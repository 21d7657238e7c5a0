"""Markdown as its readers use it: the code that they copy, the links that they follow."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of prose before it."""

    language: str
    text: str
    before: str


def sections(text: str) -> Iterator[tuple[str, list[Block]]]:
    """Second-level headings with the blocks under them; what comes before the first one is under `""`."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    for title, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        yield title, list(_blocks(body))


def _blocks(body: str) -> Iterator[Block]:
    for found in _FENCE.finditer(body):
        before = body[: found.start()].strip().rpartition("\n")[2]
        yield Block(found[1], found[2], before)


def links(text: str) -> list[str]:
    """The targets of all links, outside code."""
    prose = re.sub(r"`[^`\n]*`", lambda code: "" if "](" in code[0] else code[0], _FENCE.sub("", text))
    return _LINK.findall(prose)


def anchors(path: Path) -> set[str]:
    """The names that headings of this file get, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", path.read_text())):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while (unique := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(unique)
    return found
