"""In which form a graph is answered."""

import pytest

from api.pipelines.formats import MERMAID, SVG, TEXT, Form, Format, choose
from api.problems import Problem

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
IMAGE = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"


@pytest.mark.parametrize(
    ("format", "accept", "form"),
    [
        (None, None, TEXT),
        (None, "*/*", TEXT),
        (None, "application/json, */*;q=0.1", TEXT),
        (None, "image/svg+xml", SVG),
        (None, "image/*", SVG),
        (None, "text/*", TEXT),
        (None, "application/vnd.mermaid", MERMAID),
        (None, "text/plain;q=0.5, image/svg+xml;q=0.9", SVG),
        (None, "*/*, text/plain;q=0", SVG),
        (None, BROWSER, SVG),
        (None, IMAGE, SVG),
        ("mermaid", BROWSER, TEXT),
        ("svg", "text/plain", SVG),
    ],
)
def test_what_is_asked_for_is_given(format: Format | None, accept: str | None, form: Form) -> None:
    assert choose(format, accept) is form


@pytest.mark.parametrize(
    "accept", ["application/json", "image/png", "image/svg+xml;q=0", "text/plain;q=nonsense", ";"]
)
def test_what_there_is_not_is_refused(accept: str) -> None:
    with pytest.raises(Problem) as refused:
        choose(None, accept)
    assert refused.value.status == 406
    assert "image/svg+xml" in refused.value.detail
