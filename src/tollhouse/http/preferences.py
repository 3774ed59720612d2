"""What a visitor chooses in the foot of a page, and where that leads back to. A cookie keeps each choice for a year."""

import re
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import cookie_parser
from starlette.responses import Response

from tollhouse.http.languages import LANGUAGES, preferred
from tollhouse.http.request import Request

KEPT_S = 365 * 86_400
OWN_PAGE = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")
"""A path of this host in printable ASCII, without a backslash. `//other` and `/\\other` would be other hosts."""


class Preference(Struct, frozen=True):
    """What can be chosen. The field of its form and its cookie have its name."""

    name: str
    values: tuple[str, ...]

    @property
    def cookie(self) -> str:
        """Where the browser keeps it."""
        return f"tollhouse_{self.name}"


LANGUAGE = Preference("language", tuple(LANGUAGES))
THEME = Preference("theme", ("system", "light", "dark"))
"""`system` is what the device says."""
SHORTCUTS = Preference("shortcuts", ("on", "off"))
"""Whether letters are shortcuts at the dashboard, as they are until somebody switches them off."""


def preference_of(request: Request, choice: Preference) -> str:
    """What was chosen; empty where nothing was, or what there is not."""
    kept = cookie_parser(request.headers.get("cookie") or "").get(choice.cookie, "")
    return kept if kept in choice.values else ""


def return_path(request: Request) -> str:
    """Where a choice leads back to; empty on a page that answers a form, which cannot be asked for again."""
    if request.method not in {"GET", "HEAD"}:
        return ""
    address = quote(request.path) + (f"?{request.query.decode('latin-1')}" if request.query else "")
    return address if OWN_PAGE.fullmatch(address) else "/"


def return_page(request: Request) -> str:
    """The page of ours that the form of a choice names, else the start."""
    back = request.form().one("back") or "/"
    return back if OWN_PAGE.fullmatch(back) else "/"


def save_preference(request: Request, choice: Preference, response: Response) -> Response:
    """Let the browser keep what the form names."""
    value = request.form().one(choice.name)
    if value in choice.values:
        over_https = request.services.settings.secure
        response.set_cookie(choice.cookie, value, max_age=KEPT_S, path="/", secure=over_https, httponly=True, samesite="lax")
    return response


def language_of(request: Request) -> str:
    """The language of the pages that answer this request: the chosen one, else the browser's, else English."""
    return preference_of(request, LANGUAGE) or preferred(request.headers.get("accept-language") or "")
