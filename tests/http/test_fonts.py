"""Web fonts: small, complete, made once, and never a reason not to start."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from fontTools.ttLib import TTFont
from playwright.async_api import Browser

from tests.browser import WIDE, in_a_browser, visitor
from tests.cast import Actor
from tollhouse.http import fonts
from tollhouse.http.static_files import StaticFiles, preloads, static

CSS = Path(__file__).parents[2] / "src" / "tollhouse" / "http" / "static"
FACE = re.compile(r"@font-face \{([^}]*)\}")
LOAD = "address => new FontFace('Loaded', `url(${address})`, {weight: '100 900'}).load().then(font => font.status)"
BYTES_MAX = {
    "fonts/geist-latin.woff2": 20_000,
    "fonts/geist-latin-ext.woff2": 12_000,
    "fonts/geist-mono-latin.woff2": 16_000,
}


@pytest.mark.parametrize("font", fonts.WEB_FONTS, ids=lambda font: font.name)
def test_a_font_is_small_and_has_its_characters_weights_and_licence(font: fonts.WebFont) -> None:
    made = fonts.web_fonts()[font.name]
    assert len(made) <= BYTES_MAX[font.name]
    with TTFont(io.BytesIO(made)) as read, TTFont(font.source) as whole:
        wanted = fonts.characters(font.ranges) & set(whole.getBestCmap() or ())
        assert set(read.getBestCmap() or ()) == wanted
        assert len(wanted) > 150
        axes: list[Any] = read["fvar"].axes  # pyright: ignore[reportUnknownMemberType]
        assert [(axis.axisTag, axis.minValue, axis.maxValue) for axis in axes] == [("wght", 400, 700)]
        assert "SIL Open Font License" in str(read["name"].getDebugName(fonts.LICENSE))
        assert "Geist Project Authors" in str(read["name"].getDebugName(fonts.COPYRIGHT))
        assert "fpgm" not in read


def test_digits_of_a_column_have_one_width() -> None:
    with TTFont(io.BytesIO(fonts.web_fonts()[fonts.LATIN_FONT])) as latin:
        assert "tnum" in {one.FeatureTag for one in latin["GSUB"].table.FeatureList.FeatureRecord}
        assert "kern" in {one.FeatureTag for one in latin["GPOS"].table.FeatureList.FeatureRecord}


def test_stylesheets_name_the_fonts_and_their_ranges() -> None:
    ranges = {font.name: font.ranges for font in fonts.WEB_FONTS}
    faces = [face for file in CSS.glob("*.css") for face in FACE.findall(file.read_text())]
    assert len(faces) == len(ranges)
    for face in faces:
        [name] = re.findall(r'url\("([^"]+)"\) format\("woff2"\)', face)
        assert "font-display: swap" in face
        assert [ranges[name]] == (re.findall(r"unicode-range: ([^;]+);", face) or [ranges[name]])


@pytest.mark.long
def test_fonts_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fonts.web_fonts(tmp_path / "new")
    assert first == fonts.web_fonts()  # the same bytes, whoever made them
    files = sorted((tmp_path / "new").iterdir())
    assert len(files) == len(first) == 3
    files[0].write_bytes(files[0].read_bytes()[:-1])  # a disk that was full
    assert fonts.web_fonts(tmp_path / "new") == first
    monkeypatch.setattr(fonts, "subset", None)
    assert fonts.web_fonts(tmp_path / "new") == first


@pytest.mark.long
def test_an_installation_may_be_read_only(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    assert len(fonts.web_fonts(nowhere)) == 3


def test_pages_do_without_fonts_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fonts, "WEB_FONTS", [fonts.WebFont(fonts.LATIN_FONT, tmp_path / "missing.ttf", fonts.LATIN)])
    assert fonts.web_fonts(tmp_path) == {}
    assert "font_unavailable" in capsys.readouterr().out
    styles = b'@font-face { src: url("fonts/geist-latin.woff2") }'
    without = StaticFiles({"app.css": styles})
    assert without.addresses([fonts.LATIN_FONT]) == []
    sent = without.response("app.css", None, None)
    assert sent is not None
    assert sent.body == styles


async def test_fonts_are_served(alice: Actor) -> None:
    for name, made in fonts.web_fonts().items():
        answer = (await alice.anonymously("GET", static(name))).ok()
        assert answer.raw == made
        assert answer.headers["Content-Type"] == "font/woff2"
        assert "immutable" in answer.headers["Cache-Control"]
        assert "Content-Encoding" not in answer.headers
        assert (await alice.anonymously("GET", f"/static/{name}")).ok().raw == made
    page = (await alice.anonymously("GET", "/signin")).ok()
    [address] = preloads()
    assert f'<link rel="preload" href="{address}" as="font" type="font/woff2" crossorigin>' in page.text
    assert "font-src 'self'" in page.headers["Content-Security-Policy"]


@pytest.mark.long
@in_a_browser
async def test_a_browser_loads_the_fonts(browser: Browser, alice: Actor) -> None:
    async with visitor(browser, WIDE, alice.service.url) as someone:
        await someone.page.goto(f"{alice.service.url}/signin")
        assert await someone.page.evaluate("document.fonts.ready.then(all => all.check('500 16px Geist'))")
        for name in fonts.web_fonts():
            assert await someone.page.evaluate(LOAD, static(name)) == "loaded"
