"""In which form a graph is answered: what `format` says, else what `Accept` prefers (RFC 9110, section 12.5.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from api.pipelines.graph import Graph
from api.pipelines.mermaid import mermaid
from api.pipelines.svg import svg
from api.problems import Problem

Format = Literal["mermaid", "svg"]


@dataclass(frozen=True)
class Form:
    """One form, and how a graph is put into it."""

    media_type: str
    draw: Callable[[Graph], str]


TEXT = Form("text/plain", mermaid)
#: https://www.iana.org/assignments/media-types/application/vnd.mermaid
MERMAID = Form("application/vnd.mermaid", mermaid)
SVG = Form("image/svg+xml", svg)

_BY_FORMAT = {"mermaid": TEXT, "svg": SVG}


def choose(format: Format | None, accept: str | None) -> Form:
    """The form to answer in; a `406` problem when the caller accepts none of ours.

    To whoever takes anything it is text, as in a terminal; a browser, which asks for HTML, gets the picture.
    """
    if format is not None:
        return _BY_FORMAT[format]
    wanted = _parse(accept or "*/*")
    offers = [SVG, TEXT, MERMAID] if "text/html" in wanted else [TEXT, SVG, MERMAID]
    best = max(offers, key=lambda form: _quality(form.media_type, wanted))
    if _quality(best.media_type, wanted) == 0:
        names = ", ".join(form.media_type for form in (SVG, TEXT, MERMAID))
        raise Problem(
            406, "not-acceptable", "Not acceptable", f"this is answered as {names}: accept one of them"
        )
    return best


def _parse(accept: str) -> dict[str, float]:
    """Quality by media range."""
    found: dict[str, float] = {}
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    quality = min(1.0, max(0.0, float(parameter[2:])))
                except ValueError:
                    quality = 0.0
        if name:
            found[name] = quality
    return found


def _quality(media_type: str, wanted: dict[str, float]) -> float:
    """What the most specific range that holds the type says."""
    for name in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        if name in wanted:
            return wanted[name]
    return 0.0
