"""The language of a visitor: the one that was chosen in the foot of a page, else the browser's, else English."""

import re
from urllib.parse import quote

from starlette.requests import cookie_parser
from starlette.responses import Response

from tollhouse.web.ask import Ask
from tollhouse.web.languages import LANGUAGES, preferred

COOKIE = "tollhouse_language"
KEPT_S = 365 * 86_400
VARY = "Accept-Language, Cookie"
"""What the language of a page depends on."""
OWN_PAGE = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")
"""A path of this host in printable ASCII, without a backslash. `//other` and `/\\other` would be other hosts."""


def language_of(ask: Ask) -> str:
    """The language of the pages that answer this request."""
    chosen = cookie_parser(ask.headers.get("cookie") or "").get(COOKIE)
    return chosen if chosen in LANGUAGES else preferred(ask.headers.get("accept-language") or "")


def way_back(ask: Ask) -> str:
    """Where the choice of a language leads back to; empty on a page that answers a form, which cannot be asked for again."""
    if ask.method not in {"GET", "HEAD"}:
        return ""
    address = quote(ask.path) + (f"?{ask.query.decode('latin-1')}" if ask.query else "")
    return address if OWN_PAGE.fullmatch(address) else "/"


def page_after_choice(ask: Ask) -> str:
    """The page of ours that the form of the choice names, else the start."""
    back = ask.form().one("back") or "/"
    return back if OWN_PAGE.fullmatch(back) else "/"


def keep(ask: Ask, answer: Response) -> Response:
    """Let the browser keep the language that the form names."""
    language = ask.form().one("language")
    if language in LANGUAGES:
        over_https = ask.house.settings.secure
        answer.set_cookie(COOKIE, language, max_age=KEPT_S, path="/", secure=over_https, httponly=True, samesite="lax")
    return answer
