"""A mail relay on loopback: takes what comes, and answers, hangs or hangs up as a test tells it to."""

import asyncio
import base64
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Self

CLOSES_WITHIN_S = 2
LINK = re.compile(r"^http://\S+/(?:verify|reset|address/confirm|address/undo)/\S+$", re.MULTILINE)


@dataclass
class Received:
    """A mail as it came in."""

    message: EmailMessage
    recipient: str
    over_tls: bool
    login: str | None

    @property
    def subject(self) -> str:
        """What it is about."""
        return str(self.message["Subject"])

    @property
    def text(self) -> str:
        """What it says, as plain text."""
        return self._part("plain")

    @property
    def html(self) -> str:
        """What it says, as HTML."""
        return self._part("html")

    @property
    def path(self) -> str:
        """Where its link leads, below the base URL."""
        [link] = LINK.findall(self.text)
        return "/" + link.split("/", 3)[3]

    def _part(self, kind: str) -> str:
        part = self.message.get_body((kind,))
        assert part is not None
        return part.get_content().replace("\r\n", "\n")


@dataclass
class Postbox:
    """`async with Postbox(port) as postbox`. `responses` overrides the usual ones, by command; `HANG` never answers."""

    port: int
    tls: ssl.SSLContext | None = None
    responses: dict[str, str] = field(default_factory=dict[str, str])
    received: list[Received] = field(default_factory=list[Received])
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        self._talks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._let_in, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def to(self, email: str) -> list[Received]:
        """What this person got."""
        return [received for received in self.received if received.recipient == email]

    def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._server.is_serving():  # accepted by the kernel before
            writer.transport.abort()
            return
        talk = asyncio.ensure_future(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        over_tls, login, recipient = False, None, ""
        try:
            await self._say(writer, "GREETING", "220 postbox ESMTP")
            while line := (await reader.readline()).decode().strip():
                verb, _, rest = line.partition(" ")
                if verb == "EHLO":
                    offers = "\r\n250-STARTTLS" if self.tls and not over_tls else ""
                    await self._say(writer, verb, f"250-postbox{offers}\r\n250-SMTPUTF8\r\n250 AUTH PLAIN")
                elif verb == "STARTTLS" and self.tls:
                    await self._say(writer, verb, "220 go on")
                    await writer.start_tls(self.tls)
                    over_tls = True
                elif verb == "AUTH":
                    login = base64.b64decode(rest.split()[-1]).decode()
                    await self._say(writer, verb, "235 hello")
                elif verb == "DATA":
                    await self._say(writer, verb, "354 go on")
                    raw = (await reader.readuntil(b"\r\n.\r\n")).removesuffix(b"\r\n.\r\n").replace(b"\r\n..", b"\r\n.")
                    if not self.responses.get("TAKEN", "250").startswith(("4", "5")):
                        message = message_from_bytes(raw, policy=policy.default)
                        self.received.append(Received(message, recipient, over_tls, login))
                    self.came.set()
                    await self._say(writer, "TAKEN", "250 taken")
                else:
                    recipient = rest.partition("<")[2].partition(">")[0] if verb == "RCPT" else recipient
                    await self._say(writer, verb, "250 well")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), CLOSES_WITHIN_S)

    async def _say(self, writer: asyncio.StreamWriter, verb: str, usual: str) -> None:
        answer = self.responses.get(verb, usual)
        if answer == "HANG":
            await asyncio.Event().wait()
        if answer == "HANG UP":
            raise ConnectionResetError
        writer.write(f"{answer}\r\n".encode())
        await writer.drain()
