"""What a mail says: plain text of a template, in the language of who reads it, without a word that a stranger chose."""

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
from tollhouse.mail.model import LINKED, Mail

COLUMNS = 72


class Written(Struct, frozen=True):
    """A mail as it is read. `link` is empty where it has none."""

    subject: str
    text: str
    link: str


class NoAddressError(Exception):
    """Nothing can be sent to what this person signs in with."""


def write(services: Services, mail: Mail) -> Written:
    """The words of a mail. Its links lead to the base URL, whatever host somebody asked for it by."""
    letter, base_url = mail.letter, services.settings.base_url
    link = ""
    for about in LINKED:
        if about == letter.about:
            link = f"{base_url}/{about}/{links.secret_of(services.keys, about, mail.id)}"
    facts = {"at": stamp(mail.created_at), "until": stamp(mail.useful_until), **letter.facts}
    rendered = services.templates.render(
        f"mail/{letter.about}.txt",
        letter.language,
        base_url=base_url,
        link=link,
        of_operator=letter.user_id is None,
        **facts,
    )
    subject, *paragraphs = [" ".join(part.split()) for part in rendered.split("\n\n")]
    return Written(subject, "\n\n".join(map(_wrapped, paragraphs)) + "\n", link)


def message_of(services: Services, mail: Mail) -> EmailMessage:
    """The mail as it goes over the wire. Its id there is its own: who gets it twice can tell. Raises `NoAddressError`."""
    written = write(services, mail)
    name, sender = parseaddr(services.settings.sender)
    message = EmailMessage()
    message["Subject"] = written.subject
    message["From"] = Address(name, addr_spec=sender)
    message["To"] = _address(mail.letter.recipient)
    message["Date"] = format_datetime(mail.created_at)
    message["Message-ID"] = f"<{mail.id}@{urlsplit(services.settings.base_url).hostname}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(written.text)
    message["Content-Language"] = mail.letter.language  # after the content, which takes all others of its kind away
    return message


def _address(email: str) -> Address:
    """Exactly one address, whatever a person signs in with."""
    local, _, domain = email.rpartition("@")
    try:
        return Address(addr_spec=f"{local}@{domain if domain.isascii() else idna.encode(domain, uts46=True).decode()}")
    except (MessageError, ValueError, IndexError):
        raise NoAddressError from None


def _wrapped(paragraph: str) -> str:
    """Lines as mail has them. A link stays whole."""
    return textwrap.fill(paragraph, COLUMNS, break_long_words=False, break_on_hyphens=False)
