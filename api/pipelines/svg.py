"""A pipeline as a picture: SVG (https://www.w3.org/TR/SVG2/) that needs no script, no font of its own and no network.

States are told in words and not by colour alone; the picture has a title and a description, and each job a title with
its whole name, as screen readers and the pointer show them (https://www.w3.org/TR/svg-aam-1.0/).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import escape as _escape

from api.pipelines.graph import Graph, Node
from api.pipelines.layout import HEIGHT, WIDTH, Layout, Point, lay_out

_MARGIN, _HEAD = 24, 56
_NAME_LENGTH, _LINE_LENGTH = 21, 30

_STYLE = """
svg{background:#fff;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
text{fill:#1f2328}.head{font-size:17px;font-weight:600}.sub,.when{font-size:12px;fill:#57606a}
.name{font-size:14px;font-weight:600}.state{font-size:12px}
.box{fill:#f6f8fa;stroke:#8c959f;stroke-width:1}.bar{fill:#8c959f}
.edge{fill:none;stroke:#8c959f;stroke-width:1.5}.tip{fill:#8c959f}
.succeeded .box{fill:#e6f6ea;stroke:#1a7f37}.succeeded .bar{fill:#1a7f37}
.failed .box,.expired .box{fill:#ffebe9;stroke:#cf222e}.failed .bar,.expired .bar{fill:#cf222e}
.running .box{fill:#ddf0ff;stroke:#0b62d6}.running .bar{fill:#0b62d6}
.retrying .box{fill:#fff5d6;stroke:#9a6700}.retrying .bar{fill:#9a6700}
.cancelled .bar{fill:#57606a}.skipped .box{stroke-dasharray:4 3}.skipped text{fill:#57606a}
.path .box{stroke-width:3}.edge.path{stroke:#1f2328;stroke-width:3}.tip.path{fill:#1f2328}
@media (prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.sub,.when,.skipped text{fill:#9da7b3}
.box{fill:#161b22;stroke:#6e7681}.succeeded .box{fill:#0f2d18;stroke:#3fb950}.failed .box,.expired .box{fill:#3c1214;
stroke:#f85149}.running .box{fill:#0c2d57;stroke:#58a6ff}.retrying .box{fill:#341f00;stroke:#d29922}
.edge.path{stroke:#e6edf3}.tip.path{fill:#e6edf3}}
""".strip()


def svg(graph: Graph) -> str:
    """The picture. Jobs stand from left to right in the order of their needs; thick lines are the critical path."""
    layout = lay_out({node.name: node.needs for node in graph.nodes})
    head = f"Pipeline {graph.id}: {graph.state}"
    hidden = len(set(graph.edges)) - len(layout.edges)
    told = _tally(graph) + (f"; {hidden:,} dependencies are not drawn" if hidden > 0 else "")
    width = max(layout.width, 8.5 * len(head[:80]), 6.5 * len(told)) + 2 * _MARGIN
    height = layout.height + 2 * _MARGIN + _HEAD
    thick = graph.steps
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="t d">',
        f'<title id="t">{escape(head)}</title>',
        f'<desc id="d">{escape(_description(graph, told))}</desc>',
        f"<style>{_STYLE}</style>",
        "<defs>",
        _marker("tip", ""),
        _marker("tip-path", " path"),
        "</defs>",
        f'<text class="head" x="{_MARGIN}" y="{_MARGIN + 14}">{escape(shorten(head, 80))}</text>',
        f'<text class="sub" x="{_MARGIN}" y="{_MARGIN + 34}">{escape(told)}</text>',
        f'<g transform="translate({_MARGIN} {_MARGIN + _HEAD})">',
    ]
    # The critical path last, so that it lies on top.
    for edge, points in sorted(layout.edges.items(), key=lambda each: each[0] in thick):
        parts.append(_edge(points, edge in thick))
    parts += [_job(node, layout, node.name in graph.path) for node in graph.nodes]
    return "\n".join([*parts, "</g>", "</svg>", ""])


def escape(text: str) -> str:
    """`text` as XML 1.0 can hold it: markup escaped, and what no XML document may contain replaced."""
    legal = re.sub(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    return _escape(legal, {'"': "&quot;", "'": "&#39;"})


def shorten(text: str, length: int) -> str:
    """`text` in so many signs: the middle goes, as names mostly differ at their ends."""
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[-tail:]}"


def _tally(graph: Graph) -> str:
    counts = Counter(node.state for node in graph.nodes)
    return ", ".join(f"{count:,} {state}" for state, count in counts.most_common()) or "no jobs"


def _description(graph: Graph, told: str) -> str:
    path = f" Critical path: {', '.join(graph.path[:50])}." if graph.path else ""
    return f"{len(graph.nodes):,} jobs from left to right in the order of their needs: {told}.{path}"


def _marker(name: str, extra: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="tip{extra}" d="M0 0L8 4L0 8z"/></marker>'
    )


def _edge(points: Sequence[Point], is_thick: bool) -> str:
    """A line from the right side of one job to the left side of another, level where it passes a column."""
    drawn = f"M{points[0].x + WIDTH:g} {points[0].y:g}"
    for left, right in pairwise(points):
        start = left.x + WIDTH
        middle = (start + right.x) / 2
        if left is not points[0]:
            drawn += f"H{start:g}"
        drawn += f"C{middle:g} {left.y:g} {middle:g} {right.y:g} {right.x:g} {right.y:g}"
    kind, tip = ("edge path", "tip-path") if is_thick else ("edge", "tip")
    return f'<path class="{kind}" d="{drawn}" marker-end="url(#{tip})"/>'


def _job(node: Node, layout: Layout, is_on_path: bool) -> str:
    at = layout.jobs[node.name]
    top = at.y - HEIGHT / 2
    state = f"{node.state} {node.note}".rstrip()
    whole = f"{node.name} ({node.kind}): {state}" + (
        f", runs when {node.when}" if node.when != "all_succeeded" else ""
    )
    condition = (
        f'<text class="when" x="{WIDTH - 8}" y="-5" text-anchor="end">{escape(node.when)}</text>'
        if node.when != "all_succeeded"
        else ""
    )
    classes = re.sub(r"[^a-z_ ]", "", f"job {node.state}") + (" path" if is_on_path else "")
    return (
        f'<g class="{classes}" transform="translate({at.x:g} {top:g})"><title>{escape(whole)}</title>'
        f'<rect class="box" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        f'<rect class="bar" width="6" height="{HEIGHT}" rx="3"/>{condition}'
        f'<text class="name" x="16" y="23">{escape(shorten(node.name, _NAME_LENGTH))}</text>'
        f'<text class="state" x="16" y="43">{escape(shorten(state, _LINE_LENGTH))}</text></g>'
    )
