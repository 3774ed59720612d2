"""The links of emails: the ID of the email and a MAC over it. The secret is not stored, not even as a digest.

A link to unsubscribe has its person, merchant and topic instead. It works as long as the key ring has its key, and does
nothing else.
"""

from typing import NamedTuple, get_args
from uuid import UUID

from tollhouse.accounts.mail import store
from tollhouse.accounts.mail.model import LinkKind, NotificationKind, Topic
from tollhouse.http.request import Request
from tollhouse.kernel import base64url
from tollhouse.kernel.errors import ApiError
from tollhouse.platform.encryption import MAC_BYTES, KeyRing

PURPOSE = b"mail link:"
ID_BYTES = 16
UNSUBSCRIBE, UNSUBSCRIBE_PURPOSE = "/unsubscribe", b"unsubscribe:"
UNSUBSCRIBE_MAC_BYTES, TOKEN_CHARS_MAX = 16, 128
TOPICS: dict[bytes, Topic] = {topic.encode(): topic for topic in ("digest", *get_args(NotificationKind))}
SECRET_CHARS = (ID_BYTES + MAC_BYTES) // 3 * 4


class MailLinkExpired(ApiError):
    """410: the link is unknown, used or expired."""

    code, status = "link_over", 410
    message = "This link is invalid, was already used, or has expired. Request a new one."
    solution = "Request a new link."


class LinkOwner(NamedTuple):
    """The user of a link. `active`: the link can be used; `verified`: it was used and the address is verified."""

    mail_id: UUID
    user_id: UUID
    email: str
    active: bool
    verified: bool


class Subscription(NamedTuple):
    """The emails of a topic to a member of a merchant."""

    user_id: UUID
    merchant_id: UUID
    topic: Topic


def unsubscribe_path(keys: KeyRing, subscription: Subscription) -> str:
    """The path that stops these emails, without sign-in."""
    subject = subscription.user_id.bytes + subscription.merchant_id.bytes + subscription.topic.encode()
    mac = keys.mac(UNSUBSCRIBE_PURPOSE + subject)[:UNSUBSCRIBE_MAC_BYTES]
    return f"{UNSUBSCRIBE}/{base64url.encode(mac + subject)}"


def parse_unsubscribe_token(keys: KeyRing, token: str) -> Subscription | None:
    """The subscription of a token; None if its MAC or form is wrong."""
    raw = base64url.decode(token) if len(token) <= TOKEN_CHARS_MAX else None
    if raw is None:
        return None
    mac, subject = raw[:UNSUBSCRIBE_MAC_BYTES], raw[UNSUBSCRIBE_MAC_BYTES:]
    topic = TOPICS.get(subject[2 * ID_BYTES :])
    if topic is None or not keys.verify_mac(UNSUBSCRIBE_PURPOSE + subject, mac):
        return None
    return Subscription(UUID(bytes=subject[:ID_BYTES]), UUID(bytes=subject[ID_BYTES : 2 * ID_BYTES]), topic)


def link_secret(keys: KeyRing, kind: LinkKind, link_id: UUID) -> str:
    """The secret at the end of the email's link. `link_id` is that of the email, or of what the link is about."""
    return base64url.encode(link_id.bytes + keys.mac(_mac_input(kind, link_id)))


def parse_link_secret(keys: KeyRing, kind: LinkKind, secret: str) -> UUID | None:
    """The ID in a link secret; None if its MAC or form is wrong."""
    raw = base64url.decode(secret) if len(secret) == SECRET_CHARS else None
    if raw is None:
        return None
    mail_id = UUID(bytes=raw[:ID_BYTES])
    return mail_id if keys.verify_mac(_mac_input(kind, mail_id), raw[ID_BYTES:]) else None


async def find_owner(request: Request, kind: LinkKind, secret: str) -> LinkOwner:
    """The user of a link, used or not. Raises `MailLinkExpired` if there is none."""
    mail_id = parse_link_secret(request.services.keys, kind, secret)
    row = None if mail_id is None else await store.find_link_owner(request.services.db, kind, mail_id, request.now)
    if mail_id is None or row is None:
        raise MailLinkExpired
    return LinkOwner(mail_id, row["user_id"], row["email"], row["active"], row["verified"])


def _mac_input(kind: LinkKind, mail_id: UUID) -> bytes:
    return PURPOSE + f"{kind}.{mail_id.hex}".encode()
