"""The guide as pages, as Markdown and as a list."""

import re

import pytest
from playwright.async_api import Browser

from tests.browser import NARROW, Look, by_look, in_a_browser, visitor
from tests.cast import Actor, of_the_file
from tests.running import Service
from tollhouse.instance.docs.book import CHAPTERS, EXAMPLE_URL, chapters, file_of

alice = of_the_file("alice", "Alice's Coffee")
HREF = re.compile(r'href="([^"]+)"')
ID = re.compile(r' id="([^"]+)"')
WITH_AXE = {"quickstart", "errors", "webhooks", "changelog"}
"""Among them they have everything that chapters are made of."""


def test_every_chapter_is_written() -> None:
    assert list(chapters()) == list(CHAPTERS)
    assert all(chapter.title != chapter.name for chapter in chapters().values())


@pytest.mark.parametrize("name", CHAPTERS)
async def test_a_chapter_is_served_as_page_and_as_markdown(alice: Actor, service: Service, name: str) -> None:
    shown = (await alice.anonymously("GET", f"/docs/{name}")).ok()
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert shown.text.count("<h1") == 1
    assert len(ID.findall(shown.text)) == len(set(ID.findall(shown.text)))
    written = (await alice.anonymously("GET", f"/docs/{name}.md")).ok()
    assert written.headers["content-type"].startswith("text/markdown")
    assert written.text == file_of(name).read_text().replace(EXAMPLE_URL, service.url)


@pytest.mark.long
async def test_every_link_leads_somewhere(alice: Actor) -> None:
    found = {
        href for chapter in chapters().values() for href in HREF.findall(chapter.html) if not href.startswith(("http", "#"))
    }
    assert "/docs/idempotency" in found
    for href in found:
        (await alice.anonymously("GET", href.partition("#")[0])).ok()
        _, mark, anchor = href.partition("#")
        if mark:
            chapter = chapters()[href.removeprefix("/docs/").partition("#")[0]]
            assert anchor in {heading.anchor for heading in chapter.headings}


async def test_the_metadata_names_the_guide(alice: Actor, service: Service) -> None:
    metadata = (await alice.anonymously("GET", "/.well-known/oauth-authorization-server")).ok().body
    assert metadata["service_documentation"] == f"{service.url}/docs"
    contents = (await alice.anonymously("GET", "/docs")).ok().text
    assert all(f'href="/docs/{name}"' in contents for name in CHAPTERS)


@pytest.mark.long
async def test_programs_find_everything_from_one_list(alice: Actor, service: Service) -> None:
    listed = (await alice.anonymously("GET", "/llms.txt")).ok()
    assert listed.headers["content-type"].startswith("text/plain")
    for address in re.findall(r"\]\(([^)]+)\)", listed.text):
        (await alice.anonymously("GET", address.removeprefix(service.url))).ok()


@pytest.mark.long
async def test_pages_lead_on(alice: Actor) -> None:
    """From the first chapter by "Next page" to the last event, past everything once."""
    path, seen = f"/docs/{next(iter(CHAPTERS))}", list[str]()
    while path:
        assert path not in seen
        seen.append(path)
        shown = (await alice.anonymously("GET", path)).ok().text
        behind = re.search(r'href="([^"]+)" rel="next"', shown)
        assert shown.count('aria-current="page"') >= 1
        path = behind[1] if behind else ""
    assert {f"/docs/{name}" for name in CHAPTERS} < set(seen)
    assert len(seen) > 100


async def test_the_status_is_shown(alice: Actor) -> None:
    assert "are available" in (await alice.anonymously("GET", "/docs/status")).ok().text


@pytest.mark.parametrize("name", ["nothing", "nothing.md", "architecture", ".md", "quickstart.md.md"])
async def test_what_is_no_chapter_is_not_there(alice: Actor, name: str) -> None:
    (await alice.anonymously("GET", f"/docs/{name}")).refused("not_found", 404)


@pytest.mark.long
@in_a_browser
@by_look(NARROW)
async def test_the_guide_in_a_browser(look: Look, browser: Browser, service: Service) -> None:
    async with visitor(browser, look, service.url) as someone:
        await someone.page.goto(f"{service.url}/docs")
        await someone.see("guide-contents")
        for name in CHAPTERS:
            await someone.page.goto(f"{service.url}/docs/{name}")
            await (someone.see if name in WITH_AXE else someone.glance)(f"guide-{name}")
