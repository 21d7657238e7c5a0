"""A pipeline as text for Mermaid (https://mermaid.js.org/syntax/flowchart.html), which many Markdown viewers draw."""

import re

from api.pipelines.graph import Graph, Node

#: What viewers draw unless told otherwise (`maxEdges`, `maxTextSize`); a page cannot change these for itself.
_MOST_EDGES, _MOST_TEXT = 500, 50_000

_COLOURS = {
    "succeeded": "fill:#d9f2df,stroke:#1a7f37,color:#0b3d1a",
    "failed": "fill:#ffe0de,stroke:#cf222e,color:#5c0a11",
    "expired": "fill:#ffe0de,stroke:#cf222e,color:#5c0a11",
    "running": "fill:#dbeafe,stroke:#0b62d6,color:#06306b",
    "retrying": "fill:#fff3cd,stroke:#9a6700,color:#4d3300",
    "cancelled": "fill:#eaeef2,stroke:#57606a,color:#32383f",
    "skipped": "fill:#f6f8fa,stroke:#8c959f,color:#57606a,stroke-dasharray:4 3",
}


def mermaid(graph: Graph) -> str:
    """A flowchart from left to right: states as text and colour, the critical path with thick lines."""
    names = {node.name: f"j{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR", f"  %% {_comment(graph.id)}: {_comment(graph.state)}"]
    lines += [f'  {names[node.name]}["{_label(node)}"]' for node in graph.nodes]
    thick = graph.steps
    conditions = {node.name: node.when for node in graph.nodes if node.when != "all_succeeded"}
    edges = [
        f"  {names[needed]} {'==>' if (needed, name) in thick else '-->'}"
        f"{f'|{escape(conditions[name])}|' if name in conditions else ''} {names[name]}"
        for needed, name in graph.edges
    ]
    lines += edges
    for state, colours in _COLOURS.items():
        members = ",".join(names[node.name] for node in graph.nodes if node.state == state)
        if members:
            lines += [f"  classDef {state} {colours}", f"  class {members} {state}"]
    text = "\n".join(lines) + "\n"
    if len(edges) > _MOST_EDGES or len(text) > _MOST_TEXT:
        hint = f"  %% large: a viewer needs maxEdges of {len(edges)} and maxTextSize of {len(text) + 200}"
        text = text.replace("\n", f"\n{hint}\n", 1)
    return text


def _label(node: Node) -> str:
    parts = [node.name, node.kind, f"{node.state} {node.note}".rstrip()]
    return "<br/>".join(map(escape, parts))


def escape(text: str) -> str:
    """`text` as it may stand in quotes: whatever is not plain becomes Mermaid's own entity, `#` and a number."""
    return re.sub(r"[^A-Za-z0-9_. :/()-]", lambda sign: f"#{ord(sign[0])};", text)


def _comment(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.:~-]", "?", text)
