"""Markdown to HTML: chapters with anchors, tables that scroll in themselves, code with colours, and inline texts."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from msgspec import Struct

from tollhouse.instance.docs import code
from tollhouse.instance.docs.code import Sample
from tollhouse.instance.docs.sequence_diagram import svg_of

TABLE = '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>'
"""A table scrolls sideways where it is wider than the text."""
DIAGRAM = '<div class="wide" tabindex="0" role="group" aria-label="Diagram">'
LANGUAGE = re.compile(r"[A-Z][A-Za-z+# ]*:")
"""A paragraph such as `Python:` before a block of code. Two of them or more become tabs."""
SAMPLE_TOKENS = 4
CODE = re.compile(r"\w+")
LINK_BETWEEN_FILES = re.compile(r"([a-z-]+)\.md(#[\w-]+)?")
LINK_TO_MARKDOWN = re.compile(r"(/docs/[\w./-]+)\.md(#[\w-]+)?")
PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")


class Heading(Struct, frozen=True):
    """A section of a page, for its table of contents and for the search. `text` is what stands below it, without markup."""

    anchor: str
    title: str
    text: str


class Rendered(Struct, frozen=True):
    """A page: its title, the text before the first section, its sections, and all of it as HTML."""

    title: str
    opening: str
    html: str
    headings: tuple[Heading, ...]


def render(markdown: str, is_chapter: Callable[[str], bool]) -> Rendered:
    """Render a page. Links to files of chapters become links to their pages."""
    tokens = PARSER.parse(markdown)
    _link(tokens, is_chapter)
    title, headings, opening = _with_anchors(tokens)
    _name_terms(tokens, {heading.anchor for heading in headings})
    return Rendered(title, opening, "".join(_html(tokens)), headings)


def inline(text: str) -> Markup:
    """One paragraph of Markdown without its element, such as a description of the OpenAPI document."""
    [paragraph] = PARSER.parseInline(text)
    _link([paragraph], lambda _: True)
    return Markup(PARSER.renderer.render([paragraph], PARSER.options, {}))  # noqa: S704 - HTML in Markdown is escaped


def _html(tokens: list[Token]) -> Iterator[str]:
    """The HTML of all tokens: code and tables in their own way, the rest as the library does."""
    plain, place, tabs = list[Token](), 0, 0
    while place < len(tokens):
        token, samples = tokens[place], _samples(tokens, place)
        if len(samples) > 1 or token.type in {"fence", "code_block", "table_open", "table_close"}:
            yield PARSER.renderer.render(plain, PARSER.options, {})
            plain = []
        if len(samples) > 1:
            tabs += 1
            yield code.tabs("Example", f"language-{tabs}", samples)
            place += SAMPLE_TOKENS * len(samples)
            continue
        if token.type == "fence" and token.info == "mermaid":
            yield f"{DIAGRAM}{svg_of(token.content)}</div>\n"
        elif token.type in {"fence", "code_block"}:
            yield code.block(token.content.rstrip("\n"), token.info)
        elif token.type == "table_open":
            yield TABLE
        elif token.type == "table_close":
            yield "</table></div>\n"
        else:
            plain.append(token)
        place += 1
    yield PARSER.renderer.render(plain, PARSER.options, {})


def _samples(tokens: Sequence[Token], place: int) -> list[Sample]:
    """The samples that begin here: paragraphs that name a language, each with a block of code."""
    found = list[Sample]()
    while place + SAMPLE_TOKENS <= len(tokens):
        opening, name, _, fence = tokens[place : place + SAMPLE_TOKENS]
        if opening.type != "paragraph_open" or fence.type != "fence" or not LANGUAGE.fullmatch(name.content):
            break
        found.append(Sample(name.content.rstrip(":"), fence.info, fence.content.rstrip("\n")))
        place += SAMPLE_TOKENS
    return found


def _with_anchors(tokens: Sequence[Token]) -> tuple[str, tuple[Heading, ...], str]:
    """Give each section its anchor. The title, the sections, and the text before the first one."""
    title, sections = "", list[tuple[str, str, list[str]]]()
    opening = list[str]()
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type == "heading_open" and before.tag == "h1":
            title = text_of(token)
        elif token.type == "inline" and before.type == "heading_open" and before.tag == "h2":
            anchor = anchor_of(text_of(token))
            before.attrSet("id", anchor)
            sections.append((anchor, text_of(token), []))
        elif token.type == "inline":
            (sections[-1][2] if sections else opening).append(text_of(token))
    return title, tuple(Heading(anchor, name, " ".join(texts)) for anchor, name, texts in sections), " ".join(opening)


def _name_terms(tokens: Sequence[Token], taken: set[str]) -> None:
    """Give each entry of a list that begins with a bold code, such as an error code, its anchor."""
    for item, _, inner in zip(tokens, tokens[1:], tokens[2:], strict=False):
        children = inner.children or []
        if item.type == "list_item_open" and [child.type for child in children[:3]] == [
            "text",
            "strong_open",
            "code_inline",
        ]:
            anchor = children[2].content
            if CODE.fullmatch(anchor) and anchor not in taken:
                item.attrSet("id", anchor)
                taken.add(anchor)


def _link(tokens: Sequence[Token], is_chapter: Callable[[str], bool]) -> None:
    for token in tokens:
        for child in token.children or []:
            if child.type == "link_open":
                child.attrSet("href", _address(str(child.attrGet("href") or ""), is_chapter))


def _address(target: str, is_chapter: Callable[[str], bool]) -> str:
    """The target of a link: files of chapters become their pages, others stay."""
    if within := LINK_TO_MARKDOWN.fullmatch(target):
        return f"{within[1]}{within[2] or ''}"
    match = LINK_BETWEEN_FILES.fullmatch(target)
    if match is None or not is_chapter(match[1]):
        return target
    return f"/docs/{match[1]}{match[2] or ''}"


def text_of(inline_token: Token) -> str:
    """The words of a token without markup."""
    return "".join(" " if child.type == "softbreak" else child.content for child in inline_token.children or [])


def anchor_of(text: str) -> str:
    """The anchor of a title."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
