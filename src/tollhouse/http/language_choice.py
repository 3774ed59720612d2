"""The language of a visitor: the one that was chosen in the foot of a page, else the browser's, else English."""

from tollhouse.http.choices import LANGUAGE, chosen
from tollhouse.http.languages import preferred
from tollhouse.http.request import Request

VARY = "Accept-Language, Cookie"
"""What the language of a page depends on, and how it looks."""


def language_of(request: Request) -> str:
    """The language of the pages that answer this request."""
    return chosen(request, LANGUAGE) or preferred(request.headers.get("accept-language") or "")
