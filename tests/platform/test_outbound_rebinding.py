"""A name that means something else each time it is asked for: a public address at first, then a private one."""

import socket
from collections.abc import Sequence
from typing import Any

import pytest
from chaos.name_server import NameServer, read, request
from chaos.receivers import Receivers, respond_once

from tests.running import settings_for
from tollhouse.platform.outgoing.outbound import Outbound

pytestmark = pytest.mark.long

SENDS = 24
PUBLIC, PRIVATE = "127.0.0.9", "127.0.0.10"
"""In this bed the network of the one is allowed and that of the other is not."""
ONLY_PUBLIC = {"TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": f"{PUBLIC}/32"}


class Rebinding:
    """What a name means, turn by turn."""

    turns: Sequence[Sequence[str]] = ([PUBLIC], [PRIVATE], [PUBLIC, PRIVATE], [PUBLIC], [PRIVATE, PUBLIC], [PRIVATE])

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, _name: str) -> Sequence[str]:
        """The next one."""
        self.asked += 1
        return self.turns[(self.asked - 1) % len(self.turns)]


def resolver(server: tuple[str, int]) -> Any:
    """The system's resolver, as if it had been told to ask this server and to remember nothing."""

    def look_up(host: str, port: int, _family: int, kind: int) -> list[Any]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.settimeout(5)
            line.connect(server)
            line.send(request(host))
            return [(socket.AF_INET, kind, 6, "", (address, port)) for address in read(line.recv(512))]

    return look_up


@pytest.mark.covers("W-60", "W-61", "S-57")
async def test_what_was_looked_up_is_what_is_called() -> None:
    meaning = Rebinding()
    settings = settings_for("postgresql:///nowhere", **ONLY_PUBLIC)  # pyright: ignore[reportArgumentType]
    async with (
        NameServer(meaning.answer) as names,
        Receivers([PUBLIC], respond_once) as public,
        Receivers([PRIVATE], port=public.port) as canary,
        Outbound(settings, deadline_s=5, look_up=resolver(names.address)) as outbound,
    ):
        url = f"http://rebinding.example:{public.port}/hook"
        ended = [(await outbound.post(url, b"{}", {})).error for _ in range(SENDS)]
    turns = [None if turn == [PUBLIC] else "blocked_destination" for turn in meaning.turns]
    assert ended == (turns * SENDS)[:SENDS]
    assert meaning.asked == SENDS
    assert public.calls == ended.count(None)
    assert canary.calls == 0
