"""A DNS server of the test bed whose answers may change from one query to the next."""

import asyncio
import struct
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Self

Answers = Callable[[str], Sequence[str] | None]
"""The current A records of a name; an empty list is NXDOMAIN, None sends no answer."""

HEAD = struct.Struct("!6H")
KIND = struct.Struct("!2H")
RECORD = struct.Struct("!3HIH")
RECORD_BYTES = RECORD.size + 4
A, AAAA, INTERNET = 1, 28, 1
IS_QUESTION, IS_ANSWER, NO_SUCH_NAME = 0x0100, 0x8580, 3
NAME_OF_THE_QUESTION = 0xC000 | HEAD.size
LOOPBACK_6 = IPv6Address("::1").packed


class NameServer(asyncio.DatagramProtocol):
    """`async with NameServer(answers) as names`: on UDP, at `names.address`. Answers have a TTL of 0.

    AAAA queries are answered with ::1: the worker should not send any.
    """

    def __init__(self, responses: Answers, host: str = "127.0.0.1", port: int = 0) -> None:
        self._answers = responses
        self._where = (host, port)
        self.asked: list[str] = []

    @property
    def address(self) -> tuple[str, int]:
        """The address it listens on."""
        return self._where

    async def __aenter__(self) -> Self:
        made = await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, local_addr=self._where)
        self._transport: asyncio.DatagramTransport = made[0]
        self._where = self._transport.get_extra_info("sockname")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._transport.close()

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Answer a query."""
        name, end = _name(data, HEAD.size)
        kind, _ = KIND.unpack_from(data, end)
        self.asked.append(name)
        found = self._answers(name)
        if found is not None:
            self._transport.sendto(_answer(data[: end + KIND.size], kind, found), addr)


def request(name: str) -> bytes:
    """A query for the A records of a name, as a resolver sends it."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return HEAD.pack(1, IS_QUESTION, 1, 0, 0, 0) + labels + b"\0" + KIND.pack(A, INTERNET)


def read(answer: bytes) -> list[str]:
    """The addresses in an answer of this server."""
    place = _name(answer, HEAD.size)[1] + KIND.size
    return [str(IPv4Address(answer[end - 4 : end])) for end in range(place + RECORD_BYTES, len(answer) + 1, RECORD_BYTES)]


def _name(data: bytes, place: int) -> tuple[str, int]:
    labels: list[str] = []
    while length := data[place]:
        labels.append(data[place + 1 : place + 1 + length].decode("ascii", "replace"))
        place += 1 + length
    return ".".join(labels).lower(), place + 1


def _answer(question: bytes, kind: int, found: Sequence[str]) -> bytes:
    data = {A: [IPv4Address(address).packed for address in found], AAAA: [LOOPBACK_6] if found else []}.get(kind, [])
    flags = IS_ANSWER | (0 if found else NO_SUCH_NAME)
    head = HEAD.pack(HEAD.unpack_from(question)[0], flags, 1, len(data), 0, 0)
    records = [RECORD.pack(NAME_OF_THE_QUESTION, kind, INTERNET, 0, len(one)) + one for one in data]
    return head + question[HEAD.size :] + b"".join(records)
