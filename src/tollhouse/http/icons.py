"""Icons of Lucide as SVG in the page. Decorative: a text beside them says what they mean."""

from functools import cache

from lucide.jinja import lucide
from markupsafe import Markup


@cache
def icon(name: str, size_px: int) -> Markup:
    """The icon as an `<svg class="i">` that screen readers skip, in the colour of the text around it.

    Stylesheets set the width of its lines. Raises `lucide.IconDoesNotExist` for an unknown name.
    """
    svg = lucide(name, size=size_px, **{"class": "i"}, aria_hidden="true")
    return Markup(svg.replace("\n  ", "").replace("\n", ""))  # noqa: S704 - markup of the package alone
