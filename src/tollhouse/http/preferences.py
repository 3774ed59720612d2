"""Preferences in the footer of a page. A cookie stores each one for a year."""

import re
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import cookie_parser
from starlette.responses import Response

from tollhouse.http.languages import LANGUAGES, preferred
from tollhouse.http.request import Request

COOKIE_AGE_S = 365 * 86_400
LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")
"""A path of this host in printable ASCII, without a backslash. `//other` and `/\\other` would be other hosts."""


class Preference(Struct, frozen=True):
    """A preference. Its form field and its cookie have the same name."""

    name: str
    values: tuple[str, ...]

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"tollhouse_{self.name}"


LANGUAGE = Preference("language", tuple(LANGUAGES))
THEME = Preference("theme", ("system", "light", "dark"))
"""`system` follows the device."""
SHORTCUTS = Preference("shortcuts", ("on", "off"))
"""Whether single letters are keyboard shortcuts in the dashboard; on by default."""


def preference_of(request: Request, choice: Preference) -> str:
    """The stored choice; empty if there is none or it is invalid."""
    value = cookie_parser(request.headers.get("cookie") or "").get(choice.cookie, "")
    return value if value in choice.values else ""


def return_path(request: Request) -> str:
    """The path to return to after a choice; empty on a page that answers a POST, which cannot be loaded again."""
    if request.method not in {"GET", "HEAD"}:
        return ""
    address = quote(request.path) + (f"?{request.query.decode('latin-1')}" if request.query else "")
    return address if LOCAL_PATH.fullmatch(address) else "/"


def return_page(request: Request) -> str:
    """The return path of the form, else the home page."""
    back = request.form().one("back") or "/"
    return back if LOCAL_PATH.fullmatch(back) else "/"


def save_preference(request: Request, choice: Preference, response: Response) -> Response:
    """Store the choice of the form in its cookie."""
    value = request.form().one(choice.name)
    if value in choice.values:
        over_https = request.services.settings.secure
        response.set_cookie(
            choice.cookie, value, max_age=COOKIE_AGE_S, path="/", secure=over_https, httponly=True, samesite="lax"
        )
    return response


def language_of(request: Request) -> str:
    """The language of pages for this request: the preference, else that of the browser, else English."""
    return preference_of(request, LANGUAGE) or preferred(request.headers.get("accept-language") or "")
