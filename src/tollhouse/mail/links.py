"""The links of mails: the id of the mail, and our MAC over it. What opens anything is kept nowhere, not even as a digest."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple
from uuid import UUID

from tollhouse.http.request import Request
from tollhouse.kernel.errors import ApiError
from tollhouse.mail import store
from tollhouse.mail.model import Linked
from tollhouse.platform.encryption import MAC_BYTES, KeyRing

PURPOSE = b"mail link:"
ID_BYTES = 16
SECRET_CHARS = (ID_BYTES + MAC_BYTES) // 3 * 4


class LinkIsOver(ApiError):
    """410: the link of a mail is none, was used, or is too old."""

    code, status = "link_over", 410
    message = "This link was used, or is too old. Ask for another."


class Holder(NamedTuple):
    """Whose link it is. `verified`: it was used, and their address counts as verified."""

    mail_id: UUID
    user_id: UUID
    email: str
    active: bool
    verified: bool


def secret_of(keys: KeyRing, about: Linked, mail_id: UUID) -> str:
    """What the link of this mail ends in."""
    return urlsafe_b64encode(mail_id.bytes + keys.mac(_bound(about, mail_id))).decode()


def mail_of(keys: KeyRing, about: Linked, secret: str) -> UUID | None:
    """The mail whose link ends in this; None where we made no such link."""
    if len(secret) != SECRET_CHARS or not secret.isascii():
        return None
    try:
        raw = urlsafe_b64decode(secret)
    except binascii.Error:
        return None
    if len(raw) != ID_BYTES + MAC_BYTES:
        return None
    mail_id = UUID(bytes=raw[:ID_BYTES])
    return mail_id if keys.vouches(_bound(about, mail_id), raw[ID_BYTES:]) else None


async def holder_of(request: Request, about: Linked, secret: str) -> Holder:
    """Whose link this is, used or not. Raises `LinkIsOver` where it is nobody's."""
    mail_id = mail_of(request.services.keys, about, secret)
    row = None if mail_id is None else await store.holder(request.services.db, about, mail_id, request.now)
    if mail_id is None or row is None:
        raise LinkIsOver
    return Holder(mail_id, row["user_id"], row["email"], row["living"], row["verified"])


def _bound(about: Linked, mail_id: UUID) -> bytes:
    return PURPOSE + f"{about}.{mail_id.hex}".encode()
