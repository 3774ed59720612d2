"""The page to return to after sign-in, or after or instead of confirming the password: an own page, never another site."""

import re
from urllib.parse import urlencode

from msgspec import Struct

from tollhouse.http.cookies import SAFE
from tollhouse.http.forms import FORM, Form, parse_form
from tollhouse.http.request import Request
from tollhouse.kernel.errors import InvalidRequest

SEGMENTS_AND_QUERY = r"(/(?!\.{1,2}([/?]|$))[A-Za-z0-9:._~-]+)*(\?[!-\"$-\[\]-~]{0,2000})?"
"""No segment is empty, `.` or `..`, and there is no backslash, space, control character or fragment."""


class ReturnPaths(Struct, frozen=True):
    """The pages of one kind of account: its home page, its sign-in page, and a pattern of the pages to return to."""

    home: str
    sign_in: str
    pattern: re.Pattern[str]

    def read(self, form: Form) -> str:
        """The page named by the parameter `to`; the home page if it is none of this account."""
        return self._own(form.one("to") or "") or self.home

    def read_cancel(self, form: Form) -> str:
        """The page named by the parameter `cancel`, where the page `to` cannot be opened; else the page `to`."""
        return self._own(form.one("cancel") or "") or self.read(form)

    def sign_in_path(self, request: Request) -> str:
        """The sign-in page that leads back to the page of this request; for a form, to the page above it."""
        to = self._page_of(request)
        return self.sign_in if to == self.home else f"{self.sign_in}?{urlencode({'to': to})}"

    def cancel_path(self, request: Request) -> str:
        """The page of the request, if it can be opened without confirming the password; else the nearest one above it."""
        return request.cancel_path or self.home

    def _page_of(self, request: Request) -> str:
        """The confirmation page is not one to return to, but the page that it opens is."""
        is_form = request.method not in SAFE
        address = request.page_path if is_form else address_of(request)
        if self._own(address):
            return address
        sent = request.query if not is_form else request.raw if request.media_type == FORM else b""
        try:
            return self.read(parse_form(sent))
        except InvalidRequest:
            return self.home

    def _own(self, address: str) -> str:
        return address if self.pattern.fullmatch(address) else ""


DASHBOARD = ReturnPaths("/", "/signin", re.compile(f"/(live|test|developers|settings|docs){SEGMENTS_AND_QUERY}"))
CONSOLE = ReturnPaths("/operator", "/operator/signin", re.compile(f"/operator{SEGMENTS_AND_QUERY}"))


def address_of(request: Request) -> str:
    """Path and query."""
    return f"{request.path}?{request.query.decode('latin-1')}" if request.query else request.path
