"""Code with colours: everything is escaped, its classes are those of the stylesheet, and tabs need no script."""

import re
from html import unescape
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser import WIDE, in_a_browser, visitor
from tests.running import Service
from tollhouse.instance.docs import code
from tollhouse.instance.docs.book import chapters
from tollhouse.instance.docs.code import Sample, highlight

STATIC = Path(code.__file__).parents[2] / "http/static"
CLASS = re.compile(r'<span class="([^"]+)">')
TAG = re.compile(r"<[^>]+>")


@pytest.mark.parametrize(
    ("language", "text", "colored"),
    [
        ("json", '{"a": "b", "n": 1, "t": true}', {"tok-n", "tok-s", "tok-k"}),
        ("sh", 'curl "$URL" -H "X: <y>" # why\n', {"tok-n", "tok-s", "tok-c"}),
        ("python", "import hmac\n\n\ndef f(x):  # no\n    return 'a' + str(1)", {"tok-k", "tok-n", "tok-s", "tok-c"}),
        ("php", '$a = ["b" => 1];', {"tok-n", "tok-s", "tok-k"}),
        ("klingon", "<b>&amp;</b>\n  x", set[str]()),
        ("", "GET /", set[str]()),
    ],
)
def test_colours_change_no_letter(language: str, text: str, colored: set[str]) -> None:
    html = highlight(text, language)
    assert set(CLASS.findall(html)) == colored
    assert unescape(TAG.sub("", html)) == text


def test_the_stylesheet_knows_every_class() -> None:
    styles = (STATIC / "lists.css").read_text()
    assert all(f".{name} {{ color: var(--" in styles for _, name in code.CLASSES)


def test_names_and_texts_of_tabs_are_escaped() -> None:
    html = code.tabs('"x"', "l", [Sample("<a>", "sh", "</pre><b>"), Sample("B", "python", "x = 1")])
    assert "<a>" not in html
    assert "<b>" not in html
    assert html.count(" checked") == 1


def test_languages_beside_each_other_become_tabs() -> None:
    html = chapters()["webhooks"].html
    assert html.count('class="code tabbed"') == 1
    assert re.findall(r'type="radio" name="language-1" value="(\w+)"', html) == ["Python", "JavaScript", "PHP", "Go"]


@pytest.mark.long
@in_a_browser
async def test_tabs_without_and_with_scripts(browser: Browser, service: Service) -> None:
    url = f"{service.url}/docs/api/open_link"
    plain = await browser.new_context(java_script_enabled=False)
    page = await plain.new_page()
    await page.goto(url)
    await expect(page.get_by_role("region", name="cURL")).to_be_visible()
    await page.get_by_role("radio", name="PHP").check()
    await expect(page.get_by_role("region", name="PHP")).to_be_visible()
    await expect(page.get_by_role("region", name="cURL")).to_be_hidden()
    await plain.close()
    async with visitor(browser, WIDE, service.url) as someone:
        page = someone.page
        await page.goto(url)
        await page.get_by_role("radio", name="Python").check()
        await page.goto(f"{service.url}/docs/webhooks")
        await expect(page.get_by_role("radio", name="Python")).to_be_checked()
        await page.get_by_role("radio", name="PHP").check()
        await page.goto(url)
        await expect(page.get_by_role("region", name="PHP")).to_contain_text("curl_init")
        await page.keyboard.press("/")
        await page.keyboard.type("idempotency")
        await page.keyboard.press("Enter")
        await expect(page.locator(".hits a").first).to_have_text("Idempotency")
        await someone.see("docs-search")
        await page.goto(f"{service.url}/docs/status")
        await someone.see("docs-status")
