"""Icons: decorative SVG of Lucide, and an unknown name is an error."""

import re
from pathlib import Path
from zipfile import ZipFile

import lucide
import pytest
from markupsafe import Markup

from tollhouse.http.markup import icon

TEMPLATES = Path(__file__).parent.parent.parent / "src" / "tollhouse"
NAMED = re.compile(r'\bi\("([a-z0-9-]+)"')


def test_an_icon_is_markup_that_screen_readers_skip() -> None:
    svg = icon("landmark", 17)
    assert isinstance(svg, Markup)
    assert svg.startswith('<svg width="17" height="17" viewBox="0 0 24 24"')
    assert 'class="i" aria-hidden="true">' in svg
    assert "\n" not in svg
    assert "xmlns" not in svg
    assert icon("landmark", 17) is svg  # rendered once


def test_an_unknown_icon_is_an_error() -> None:
    with pytest.raises(lucide.IconDoesNotExist):
        icon("no-such-icon", 18)


def test_every_icon_that_a_template_names_exists() -> None:
    with ZipFile(Path(lucide.__file__).parent / "lucide.zip") as icons:
        known = {name.removesuffix(".svg") for name in icons.namelist()}
    named = {name for page in TEMPLATES.glob("**/templates/**/*.html") for name in NAMED.findall(page.read_text())}
    assert not named - known
