"""The language of a visitor: the one that was chosen in the foot of a page, else the browser's, else English."""

from tollhouse.web.ask import Ask
from tollhouse.web.choices import LANGUAGE, chosen
from tollhouse.web.languages import preferred

VARY = "Accept-Language, Cookie"
"""What the language of a page depends on, and how it looks."""


def language_of(ask: Ask) -> str:
    """The language of the pages that answer this request."""
    return chosen(ask, LANGUAGE) or preferred(ask.headers.get("accept-language") or "")
