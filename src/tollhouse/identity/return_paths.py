"""The page to return to after sign-in or confirmation of the password: a page of the dashboard, never another site."""

import re
from urllib.parse import urlencode

from tollhouse.http.cookies import SAFE
from tollhouse.http.forms import FORM, Form, parse_form
from tollhouse.http.request import Request
from tollhouse.kernel.errors import InvalidRequest

HOME, SIGN_IN = "/", "/signin"
RETURN_PATH = re.compile(r"/(live|test|developers|settings)(/[A-Za-z0-9:._~-]+)*(\?[!-\"$-\[\]-~]{0,2000})?")
"""No segment is empty, and there is no backslash, space, control character or fragment."""


def return_path(form: Form) -> str:
    """The page named by the parameter `to`; the home page if it is none of the dashboard."""
    to = form.one("to") or ""
    return to if RETURN_PATH.fullmatch(to) else HOME


def sign_in_path(request: Request) -> str:
    """The sign-in page that leads back to the page of this request; for a form, to the page above it."""
    to = _page_of(request)
    return SIGN_IN if to == HOME else f"{SIGN_IN}?{urlencode({'to': to})}"


def address_of(request: Request) -> str:
    """Path and query."""
    return f"{request.path}?{request.query.decode('latin-1')}" if request.query else request.path


def _page_of(request: Request) -> str:
    """The confirmation page is not one to return to, but the page that it opens is."""
    is_form = request.method not in SAFE
    address = request.page_path if is_form else address_of(request)
    if RETURN_PATH.fullmatch(address):
        return address
    sent = request.query if not is_form else request.raw if request.media_type == FORM else b""
    try:
        return return_path(parse_form(sent))
    except InvalidRequest:
        return HOME
