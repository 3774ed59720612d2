"""What follows sign-in or sign-up."""

from typing import Self
from urllib.parse import urlencode

from msgspec import Struct

from tollhouse.accounts.identity.stepup import DASHBOARD
from tollhouse.http.forms import Form

REQUEST_ID_CHARS_MAX = 64


class Continuation(Struct, frozen=True):
    """An authorization request, or the page that was asked for, else the home page. The sign-in forms carry its `fields`."""

    request_id: str
    to: str

    @classmethod
    def of(cls, form: Form) -> Self:
        """From a form or a query. Neither parameter can be a URL of another site."""
        name = form.one("request") or ""
        is_id = name.isalnum() and name.isascii() and len(name) <= REQUEST_ID_CHARS_MAX
        return cls(name if is_id else "", DASHBOARD.read(form))

    @property
    def path(self) -> str:
        """Where it continues."""
        return f"/oauth/consent/{self.request_id}" if self.request_id else self.to

    @property
    def fields(self) -> dict[str, str]:
        """The parameters that carry it."""
        return {"request": self.request_id} if self.request_id else {"to": self.to} if self.to != DASHBOARD.home else {}

    def after(self, path: str) -> str:
        """The path of a form of sign-in or sign-up that continues so."""
        return f"{path}?{urlencode(self.fields)}" if self.fields else path
