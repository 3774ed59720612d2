"""Sending emails by SMTP through one relay. Passwords are sent over TLS only."""

import asyncio
import re
import ssl
from contextlib import suppress
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import parseaddr
from urllib.parse import unquote, urlsplit

from aiosmtplib import SMTP, SMTPDataError, SMTPException, SMTPRecipientRefused, SMTPRecipientsRefused, SMTPResponseException
from msgspec import Struct

from tollhouse.kernel.limits import MAIL_DEADLINE_S

PORTS = {"smtp": 587, "smtps": 465}
MAILBOX = re.compile(r'[^@\s<>,"]+@[^@\s<>,"]+|[^<>,@"]+ <[^@\s<>,"]+@[^@\s<>,"]+>')
THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
FOR_GOOD = 500
FAREWELL_S = 1


class Relay(Struct, frozen=True):
    """The relay. `tls`: from the first byte; otherwise STARTTLS if the relay offers it, except on this machine.

    STARTTLS is required before a password.
    """

    host: str
    port: int
    tls: bool
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Relay({self.host}:{self.port})"


class MailError(Exception):
    """The relay did not accept the email. `error` is one word."""

    def __init__(self, error: str) -> None:
        self.error = error
        super().__init__(error)


class MailDeferredError(MailError):
    """It may accept the email later."""


class MailRejectedError(MailError):
    """It rejected the email permanently."""


def parse_relay(url: str) -> Relay:
    """The relay of `smtp://user:password@host:port` or `smtps://`. Raises `ValueError` without any part of it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in PORTS or not host or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("must be smtp://host:port or smtps://host:port, with user:password@ if the relay requires it")
    if (parts.username is None) != (parts.password is None):
        raise ValueError("must have both user and password or neither, with characters such as @ percent-encoded")
    user, password = parts.username, parts.password
    return Relay(
        host,
        port or PORTS[parts.scheme],
        parts.scheme == "smtps",
        None if user is None else unquote(user),
        None if password is None else unquote(password),
    )


def parse_mailbox(text: str) -> str:
    """A valid `a@b.example` or `Name <a@b.example>`, unchanged. Raises `ValueError`."""
    name, address = parseaddr(text)
    try:
        known = Address(name, addr_spec=address) if MAILBOX.fullmatch(text) else None
    except (MessageError, ValueError, IndexError):
        known = None
    if known is None:
        raise ValueError("must be an email address, or a name with one in angle brackets")
    return text


async def send_mail(relay: Relay, message: EmailMessage) -> None:
    """Send this email. Raises `MailDeferredError` and `MailRejectedError`."""
    try:
        async with asyncio.timeout(MAIL_DEADLINE_S):
            await _send(relay, message)
    except (SMTPRecipientsRefused, SMTPRecipientRefused, SMTPDataError) as error:
        code = _code_of(error)
        raise (MailRejectedError if code >= FOR_GOOD else MailDeferredError)(f"answered_{code}") from None
    except SMTPResponseException as error:  # a wrong password or sender: the operator must fix it, the email waits
        raise MailDeferredError(f"answered_{error.code}") from None
    except TimeoutError:
        raise MailDeferredError("timeout") from None
    except ssl.SSLError:
        raise MailDeferredError("tls_error") from None
    except OSError:
        raise MailDeferredError("connection_error") from None
    except SMTPException:  # no TLS before the password, or no supported login
        raise MailDeferredError("not_supported") from None


async def try_relay(relay: Relay, local_hostname: str) -> None:
    """Connect and sign in; send nothing. Raises `OSError`, `ssl.SSLError` and `SMTPException`."""
    client = _client(relay, local_hostname)
    try:
        await client.connect()
        with suppress(SMTPException, OSError, TimeoutError):
            await client.quit(timeout=FAREWELL_S)
    finally:
        client.close()


def _client(relay: Relay, local_hostname: str) -> SMTP:
    """A client whose `connect` signs in too. Without a name of its own it would look up the host name, which can block."""
    return SMTP(
        hostname=relay.host,
        port=relay.port,
        use_tls=relay.tls,
        start_tls=_starts_tls(relay),
        username=relay.user,
        password=relay.password,
        timeout=MAIL_DEADLINE_S,
        local_hostname=local_hostname,
    )


async def _send(relay: Relay, message: EmailMessage) -> None:
    client = _client(relay, message["From"].addresses[0].domain)
    try:
        await client.connect()
        await client.send_message(message)
        with suppress(SMTPException, OSError, TimeoutError):  # the relay has accepted the email, however the connection ends
            await client.quit(timeout=FAREWELL_S)
    finally:
        client.close()


def _starts_tls(relay: Relay) -> bool | None:
    """Whether STARTTLS is used; None if the relay decides."""
    if relay.tls or relay.host in THIS_MACHINE:
        return False
    return None if relay.password is None else True


def _code_of(error: SMTPRecipientsRefused | SMTPRecipientRefused | SMTPDataError) -> int:
    return error.recipients[0].code if isinstance(error, SMTPRecipientsRefused) else error.code
