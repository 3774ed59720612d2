"""Sequence diagrams are drawn on the server."""

import re

import pytest
from lxml import etree

from tests.cast import Actor
from tollhouse.instance.docs.sequence_diagram import DiagramError, Loop, Message, parse, svg_of

SOURCE = """sequenceDiagram
    autonumber
    participant A as Application
    participant B as Browser & more
    A->>A: create state
    loop until the end
        A->>B: <redirect>
    end
"""


def test_the_source_is_read() -> None:
    diagram = parse(SOURCE)
    assert diagram.names == ("Application", "Browser & more")
    assert diagram.steps == (
        Message(0, 0, "1. create state"),
        Loop("until the end"),
        Message(0, 1, "2. <redirect>"),
        Loop(""),
    )


def test_the_svg_is_valid_and_has_every_text() -> None:
    svg = etree.fromstring(svg_of(SOURCE))
    texts = [element.text for element in svg.iter("{*}text")]
    assert texts == ["Application", "Browser & more", "1. create state", "until the end", "2. <redirect>"]
    assert (
        svg.get("aria-label") == "Application to Application: 1. create state; Application to Browser & more: 2. <redirect>"
    )


@pytest.mark.parametrize("line", ["note over A: no", "A->>C: unknown", "flowchart TD"])
def test_what_is_not_drawn_is_an_error(line: str) -> None:
    with pytest.raises(DiagramError):
        svg_of(f"{SOURCE}{line}\n")


async def test_no_page_shows_the_source_of_a_diagram(alice: Actor) -> None:
    page = (await alice.send("GET", "/docs/oauth")).ok().text
    assert "sequenceDiagram" not in page
    assert re.search(r"<svg[^>]*>.*1\. create state and code_verifier.*</svg>", page, re.DOTALL)


async def test_the_quickstart_names_this_server(alice: Actor) -> None:
    for path in ("/docs/quickstart", "/docs/quickstart.md"):
        page = (await alice.send("GET", path)).ok().text
        assert "http://localhost:8000" not in page
        assert f"BASE={alice.service.settings.base_url}" in re.sub(r"<[^>]+>", "", page)
