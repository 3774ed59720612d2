"""Compression of pages, where their length tells nothing.

The length of a compressed page reveals whether a text that somebody chose, such as a filter in its address, repeats another
text of the page (BREACH). So only pages that anyone can load are compressed: their request has no cookies but preferences.
"""

from starlette.requests import cookie_parser
from starlette.responses import Response

from tollhouse.http.compression import FAST, best_coding
from tollhouse.http.preferences import LANGUAGE, SHORTCUTS, THEME
from tollhouse.http.request import Request

PREFERENCES = frozenset(preference.cookie for preference in (LANGUAGE, THEME, SHORTCUTS))
HTML = (b"content-type", b"text/html; charset=utf-8")


def compress_page(request: Request, response: Response) -> None:
    """Compress this response in place, if it is a page that anyone can load and the client accepts it."""
    if HTML not in response.raw_headers or not is_public(request):
        return
    coding = best_coding(",".join(request.headers.getlist("accept-encoding")))
    if coding is None:
        return
    response.body = FAST[coding](bytes(response.body))
    response.headers["content-encoding"] = coding
    response.headers["content-length"] = str(len(response.body))


def is_public(request: Request) -> bool:
    """Whether the answer depends on nothing but the address and preferences."""
    if request.method not in {"GET", "HEAD"} or request.headers.get("authorization") is not None:
        return False
    return all(cookie_parser(cookies).keys() <= PREFERENCES for cookies in request.headers.getlist("cookie"))
