"""The text of emails: plain text templates in the language of the reader, without any text that a stranger chose."""

import textwrap
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from urllib.parse import urlsplit

import idna
from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.kernel.clock import stamp
from tollhouse.mail import links
from tollhouse.mail.model import LINK_KINDS, QueuedEmail

COLUMNS = 72


class RenderedEmail(Struct, frozen=True):
    """The text of an email. `link` is empty for an email without one."""

    subject: str
    text: str
    link: str


class NoAddressError(Exception):
    """The sign-in name of this user is not a deliverable address."""


def render(services: Services, queued: QueuedEmail) -> RenderedEmail:
    """Render an email in the language of its reader. Links use the base URL, whatever host the request named."""
    email, base_url = queued.email, services.settings.base_url
    link = ""
    for kind in LINK_KINDS:
        if kind == email.kind:
            link = f"{base_url}/{kind}/{links.link_secret(services.keys, kind, queued.id)}"
    facts = {"at": stamp(queued.created_at), "until": stamp(queued.useful_until), **email.facts}
    rendered = services.templates.render(
        f"mail/{email.kind}.txt",
        email.language,
        base_url=base_url,
        link=link,
        is_operator=email.user_id is None,
        **facts,
    )
    subject, *paragraphs = [" ".join(part.split()) for part in rendered.split("\n\n")]
    return RenderedEmail(subject, "\n\n".join(map(_wrap, paragraphs)) + "\n", link)


def mime_message(services: Services, queued: QueuedEmail) -> EmailMessage:
    """The email for SMTP. `Message-ID` is the same at each attempt. Raises `NoAddressError`."""
    rendered = render(services, queued)
    name, sender = parseaddr(services.settings.sender)
    message = EmailMessage()
    message["Subject"] = rendered.subject
    message["From"] = Address(name, addr_spec=sender)
    message["To"] = _address(queued.email.recipient)
    message["Date"] = format_datetime(queued.created_at)
    message["Message-ID"] = f"<{queued.id}@{urlsplit(services.settings.base_url).hostname}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(rendered.text)
    message["Content-Language"] = queued.email.language  # after set_content, which removes all Content- headers
    return message


def _address(email: str) -> Address:
    """Exactly one address, with an ASCII domain."""
    local, _, domain = email.rpartition("@")
    try:
        return Address(addr_spec=f"{local}@{domain if domain.isascii() else idna.encode(domain, uts46=True).decode()}")
    except (MessageError, ValueError, IndexError):
        raise NoAddressError from None


def _wrap(paragraph: str) -> str:
    """Lines of at most 72 characters; links are not broken."""
    return textwrap.fill(paragraph, COLUMNS, break_long_words=False, break_on_hyphens=False)
