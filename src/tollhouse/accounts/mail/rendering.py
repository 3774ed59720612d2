"""Emails as plain text and as HTML, in the language of the reader, from one description of their content."""

import textwrap
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from urllib.parse import urlsplit
from uuid import UUID

import idna
from msgspec import Struct

from tollhouse.accounts.mail import links
from tollhouse.accounts.mail.content_model import Button, EmailContent, EmailValues, Facts
from tollhouse.accounts.mail.contents import CONTENTS, foot_of
from tollhouse.accounts.mail.links import Subscription
from tollhouse.accounts.mail.model import LINK_FACT, LINK_PATHS, QueuedEmail
from tollhouse.http.local_formats import Formats
from tollhouse.http.services import Services
from tollhouse.http.texts import Texts
from tollhouse.kernel.text import Text

COLUMNS = 72
ONE_CLICK = "List-Unsubscribe=One-Click"


class RenderedEmail(Struct, frozen=True):
    """An email as plain text and as an HTML document. `link` is empty for an email without a secret link.

    `unsubscribe` is the address that stops such emails (RFC 8058), empty for those that are always sent.
    """

    subject: str
    text: str
    html: str
    link: str
    unsubscribe: str


class NoAddressError(Exception):
    """The sign-in name of this user is not a deliverable address."""


def render(services: Services, queued: QueuedEmail) -> RenderedEmail:
    """Render an email in the language of its reader. Links use the base URL, whatever host the request named."""
    email, base_url = queued.email, services.settings.base_url
    link = ""
    if email.kind in LINK_PATHS:
        kind, path = LINK_PATHS[email.kind]
        link_id = UUID(email.facts[LINK_FACT]) if LINK_FACT in email.facts else queued.id
        link = f"{base_url}{path}/{links.link_secret(services.keys, kind, link_id)}"
    formats = Formats(email.language)
    created_at, useful_until = formats.moment(queued.created_at), formats.moment(queued.useful_until)
    values = EmailValues(formats, base_url, link, created_at, useful_until, email.user_id is None, email.facts)
    content, foot = CONTENTS[email.kind](values), foot_of(values)
    unsubscribe = ""
    if content.footer is not None and email.user_id is not None:
        subscription = Subscription(email.user_id, UUID(email.facts["merchant"]), content.footer.topic)
        unsubscribe = base_url + links.unsubscribe_path(services.keys, subscription)
    texts = Texts(email.language)
    html = services.templates.render("mail/email.html", email.language, content=content, foot=foot, unsubscribe=unsubscribe)
    plain = _plain(texts, content, unsubscribe, foot)
    return RenderedEmail(_line(texts.translate(content.subject)), plain, html, link, unsubscribe)


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
    if rendered.unsubscribe:
        message["List-Unsubscribe"] = f"<{rendered.unsubscribe}>"
        message["List-Unsubscribe-Post"] = ONE_CLICK
    message.set_content(rendered.text)
    message.add_alternative(rendered.html, subtype="html")
    message["Content-Language"] = queued.email.language  # after the content, which moves all Content- headers into its part
    return message


def _plain(texts: Texts, content: EmailContent, unsubscribe: str, foot: Text) -> str:
    """The plain text: paragraphs of lines of at most 72 characters. Links are not broken.

    What a link is for stands before it, unless the paragraph before says so.
    """
    written = list[str]()
    ending = () if content.footer is None else (content.footer.text, Button(content.footer.text, unsubscribe))
    for part in (*content.parts, *ending, foot):
        if isinstance(part, Button):
            is_said = bool(written) and written[-1].endswith(":")
            written.append(part.url if is_said else f"{texts.translate(part.label)}:\n{part.url}")
        elif isinstance(part, Facts):
            written.append("\n".join(_wrap(f"{texts.translate(label)}: {value}") for label, value in part.rows))
        else:
            written.append(_wrap(texts.translate(part)))
    return "\n\n".join(written) + "\n"


def _wrap(paragraph: str) -> str:
    return textwrap.fill(_line(paragraph), COLUMNS, break_long_words=False, break_on_hyphens=False)


def _line(text: str) -> str:
    return " ".join(text.split())


def _address(email: str) -> Address:
    """Exactly one address, with an ASCII domain."""
    local, _, domain = email.rpartition("@")
    try:
        return Address(addr_spec=f"{local}@{domain if domain.isascii() else idna.encode(domain, uts46=True).decode()}")
    except (MessageError, ValueError, IndexError):
        raise NoAddressError from None
