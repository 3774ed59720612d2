"""The frame of the dashboard's pages, and the tokens that bind values in a form to the session."""

import base64
import binascii
from typing import Any

from starlette.responses import Response

from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, FormErrors
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.platform.encryption import KeyRing


def render(
    request: Request,
    person: Person,
    template: str,
    status: int | None = None,
    /,
    *,
    here: str,
    form_errors: FormErrors = NO_ERRORS,
    **values: Any,
) -> Response:
    """A page of the dashboard. `here` is its entry in the menu. The status is that of the errors, unless one is given."""
    shown: dict[str, Any] = {"person": person, "here": here, "form_errors": form_errors, **values}
    return page(request, f"dashboard/{template}.html", form_errors.status if status is None else status, **shown)


MAC_BYTES = 32


def sign_form(keys: KeyRing, purpose: bytes, person: Person, subject: str) -> str:
    """The MAC of the subject for this session, in base64url."""
    return base64.urlsafe_b64encode(keys.mac(_message(purpose, person, subject))).decode()


def is_form_token(keys: KeyRing, purpose: bytes, person: Person, subject: str, token: str) -> bool:
    """Whether `sign` created the token with any key of the ring."""
    try:
        mac = base64.b64decode(token, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(mac) == MAC_BYTES and keys.verify_mac(_message(purpose, person, subject), mac)


def _message(purpose: bytes, person: Person, subject: str) -> bytes:
    return purpose + person.session_id.bytes + subject.encode()
