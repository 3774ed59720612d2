"""The base URL as clients see it: its name, its certificate, the proxy in front. And the mail server."""

import asyncio
import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from aiosmtplib import SMTPException
from msgspec import Struct

from tollhouse.instance.doctor.model import Finding
from tollhouse.kernel import clock
from tollhouse.platform.settings.config import Settings
from tollhouse.platform.smtp import try_relay

RENEW_BEFORE = timedelta(days=14)
"""Certificates are usually renewed a month before they expire."""
ADDRESSES_MAX = 8
ANSWER_WITHIN_S = 5
"""For each name, each connection with its request, and the mail server."""
PORTS = {"http": 80, "https": 443}
ALIVE, PAGE = "/healthz", "/signin"
OK, MISDIRECTED, REDIRECTS = 200, 421, range(300, 400)
UNREACHABLE_ADVICE = (
    "Start the service and its proxy. If clients outside reach it, this machine just cannot use its own public address."
)


class Answer(Struct, frozen=True):
    """A response: its status and the certificate that the server showed; `expires_at` is None without TLS."""

    status: int
    expires_at: datetime | None


class NoHttpError(Exception):
    """Something other than a web server answered."""


async def resolve(host: str) -> list[str]:
    """The addresses of a name. Raises `OSError`.

    In a thread that nobody waits for: a look-up cannot be cancelled, and would delay the end of the command.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def look_up() -> None:
        try:
            rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            result, error = list(dict.fromkeys(str(row[4][0]) for row in rows)), None
        except OSError as failed:
            result, error = [], failed
        with suppress(RuntimeError):  # the command has ended
            loop.call_soon_threadsafe(settle, result, error)

    def settle(result: list[str], error: OSError | None) -> None:
        if found.cancelled():
            return
        if error is None:
            found.set_result(result)
        else:
            found.set_exception(error)

    threading.Thread(target=look_up, daemon=True, name="doctor-dns").start()
    async with asyncio.timeout(ANSWER_WITHIN_S):
        return await found


async def examine_base_url(settings: Settings, trusted: ssl.SSLContext | None = None) -> list[Finding]:
    """Resolve the base URL, connect to each address, and ask for two pages. `trusted` verifies the certificate."""
    parts = urlsplit(settings.base_url)
    host = parts.hostname or ""
    try:
        addresses = await resolve(host)
    except OSError as error:
        advice = "Create an A or AAAA record, or correct TOLLHOUSE_BASE_URL."
        return [Finding("dns", "failure", f"{host} cannot be resolved: {_reason(error)}.", advice)]
    findings = [Finding("dns", "ok", f"{host} has the addresses {', '.join(addresses)}.")]
    context = (trusted or ssl.create_default_context()) if settings.secure else None
    port = parts.port or PORTS[parts.scheme]
    asked = [_fetch(settings, address, port, context, ALIVE) for address in addresses[:ADDRESSES_MAX]]
    reached: dict[str, Answer] = {}
    for address, answer in zip(addresses, await asyncio.gather(*asked, return_exceptions=True), strict=False):
        if isinstance(answer, BaseException):
            findings.append(_unreached(address, port, answer))
        else:
            reached[address] = answer
    if not reached:
        return findings
    if settings.secure:
        findings.append(
            _certificate(min(connection.expires_at for connection in reached.values() if connection.expires_at is not None))
        )
    address = next(iter(reached))
    return [*findings, await _through_proxy(settings, address, port, context, reached[address].status)]


async def examine_mail(settings: Settings) -> list[Finding]:
    """Sign in to the mail server. No email is sent."""
    relay = settings.smtp
    if relay is None:
        advice = "Set TOLLHOUSE_SMTP_URL (docs/mail.md)." if settings.is_live_use else ""
        return [Finding("mail", "warning" if advice else "ok", "No mail server is configured; emails are logged.", advice)]
    advice = "Check TOLLHOUSE_SMTP_URL, and whether a firewall blocks the port."
    try:
        await resolve(relay.host)
        async with asyncio.timeout(ANSWER_WITHIN_S):
            await try_relay(relay, urlsplit(settings.base_url).hostname or "localhost")
    except ssl.SSLError as error:
        return [Finding("mail", "failure", f"{relay.host}: the TLS connection failed: {_reason(error)}.", advice)]
    except OSError as error:
        return [Finding("mail", "failure", f"{relay.host}:{relay.port} cannot be reached: {_reason(error)}.", advice)]
    except SMTPException as error:  # its text can repeat what the server said, but not the password
        return [Finding("mail", "failure", f"{relay.host}: {type(error).__name__}: {error}", advice)]
    return [Finding("mail", "ok", f"{relay.host}:{relay.port} accepts the connection; sender {settings.sender}.")]


async def _fetch(settings: Settings, address: str, port: int, context: ssl.SSLContext | None, path: str) -> Answer:
    """GET a path of the base URL at this address. Raises `OSError`, `NoHttpError`."""
    parts = urlsplit(settings.base_url)
    tls: dict[str, Any] = {} if context is None else {"ssl": context, "server_hostname": parts.hostname}
    async with asyncio.timeout(ANSWER_WITHIN_S):
        reader, writer = await asyncio.open_connection(address, port, **tls)
        try:
            writer.write(f"GET {parts.path}{path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
            line = (await reader.readline()).split()
            certificate = writer.get_extra_info("peercert")
            if len(line) < len(("HTTP/1.1", "200")) or not line[0].startswith(b"HTTP/") or not line[1].isdigit():
                raise NoHttpError
            expires_s = ssl.cert_time_to_seconds(certificate["notAfter"]) if certificate else None
            return Answer(int(line[1]), None if expires_s is None else datetime.fromtimestamp(expires_s, UTC))
        finally:
            writer.close()


def _unreached(address: str, port: int, error: BaseException) -> Finding:
    """Why an address gave no answer. Certificates fail for clients too; a connection may fail from here only."""
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = "Renew or correct the certificate of the proxy, with all intermediate certificates."
        return Finding("tls", "failure", f"{address}: the certificate is not valid: {error.verify_message}.", advice)
    if isinstance(error, ssl.SSLError):
        return Finding("tls", "failure", f"{address}: no TLS connection: {_reason(error)}.", "Set up TLS in the proxy.")
    if isinstance(error, (NoHttpError, asyncio.LimitOverrunError, ValueError)):
        return Finding(
            "base_url", "failure", f"{address}: the answer is not HTTP.", "Correct the port of TOLLHOUSE_BASE_URL."
        )
    if isinstance(error, OSError):
        return Finding("base_url", "warning", f"{address}:{port} cannot be reached: {_reason(error)}.", UNREACHABLE_ADVICE)
    raise error


def _certificate(expires_at: datetime) -> Finding:
    """An expired one was refused before."""
    left = expires_at - clock.now()
    message = f"The certificate is valid until {expires_at:%Y-%m-%d}."
    if left < RENEW_BEFORE:
        return Finding("tls", "warning", message, "Renew it now, and find out why that did not happen by itself.")
    return Finding("tls", "ok", message)


async def _through_proxy(
    settings: Settings, address: str, port: int, context: ssl.SSLContext | None, status: int
) -> Finding:
    """Whether our service answers at the base URL, and gets the right Host header."""
    if status in REDIRECTS:
        advice = "Set TOLLHOUSE_BASE_URL to the address that the proxy redirects to, or let the proxy pass requests on."
        return Finding("base_url", "failure", f"{settings.base_url}{ALIVE} is redirected ({status}).", advice)
    if status != OK:
        advice = "Start the service, and let the proxy pass requests for this host and path on to it."
        return Finding("base_url", "failure", f"{settings.base_url}{ALIVE} returns {status}, not 200.", advice)
    try:
        page = await _fetch(settings, address, port, context, PAGE)
    except (OSError, NoHttpError) as error:
        return Finding(
            "base_url", "failure", f"{settings.base_url}{PAGE} gives no answer: {_reason(error)}.", UNREACHABLE_ADVICE
        )
    if page.status == MISDIRECTED:
        advice = "Let the proxy keep the Host header, such as `proxy_set_header Host $host` in nginx."
        return Finding("base_url", "failure", "The service does not see the host of TOLLHOUSE_BASE_URL (421).", advice)
    return Finding("base_url", "ok", f"{settings.base_url} leads to the service, with the right Host header.")


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {ANSWER_WITHIN_S} seconds"
    if isinstance(error, ssl.SSLError):
        return error.reason or type(error).__name__
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
