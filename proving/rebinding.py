"""Names that mean a public address when they are asked for, and a private one the next time: nobody private is called."""

import random
import socket
from collections import Counter
from collections.abc import Sequence

from proving import sealed
from proving.bed import Bed
from proving.names import NameServer
from proving.producing import Destination, Producer
from proving.receiving import Receivers, once
from proving.results import Figure, fact, must

SENDS, QUICK_SENDS = 10_000, 500
SENDS_PER_S = 100
NAMES = 200
PORT = 8080
PUBLIC_NETWORK, PUBLIC = "93.184.216.0/24", "93.184.216.34"
PRIVATE_NETWORKS = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"]
PRIVATE = ["10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "198.18.0.1", "127.0.0.1", "127.0.0.2"]
LOOPBACK_CANARIES = ["127.0.0.1", "127.0.0.2"]
ENDED_WITHIN_S = 60.0

ATTEMPTS = "SELECT coalesce(error, 'succeeded') AS told, count(*) AS attempts FROM webhook_attempts GROUP BY 1"


class Rebinding:
    """What a name means changes from one question to the next, and nobody may keep an answer."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def answer(self, name: str) -> Sequence[str]:
        """Public at first; then private, public, or both in either order."""
        turn = self._asked[name]
        self._asked[name] += 1
        private = random.choice(PRIVATE)
        return [[PUBLIC], [private], [PUBLIC], [PUBLIC, private], [PUBLIC], [private, PUBLIC]][turn % 6]


async def prove(*, quick: bool) -> list[Figure]:
    """Ten thousand sends, or five hundred."""
    sends = QUICK_SENDS if quick else SENDS
    sealed.prepare_canary(PRIVATE_NETWORKS, PUBLIC_NETWORK)
    async with (
        Bed(TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="") as bed,
        NameServer(Rebinding().answer, *sealed.NAME_SERVER) as names,
        Receivers([PUBLIC], once, port=PORT) as public,
        Receivers(LOOPBACK_CANARIES, port=PORT) as canaries,
    ):
        sing(LOOPBACK_CANARIES[0])
        bed.start_worker(alone=True)
        env = await bed.merchant("test")
        where = [Destination(env, f"http://name-{n}.rebinding.example:{PORT}/hook") for n in range(NAMES)]
        numbers = await Producer(bed).produce(where, SENDS_PER_S, sends / SENDS_PER_S)
        waiting = await bed.settle_down(ENDED_WITHIN_S)
        told = {row["told"]: row["attempts"] for row in await bed.services.db.fetch(ATTEMPTS)}
        called = told.pop("succeeded", 0)
        blocked = told.pop("blocked_destination", 0)
        return [
            fact("sends", len(numbers)),
            fact("questions to the name server", len(names.asked)),
            fact("sends to the public address", called),
            fact("sends that were blocked", blocked),
            must("sends that ended otherwise", sum(told.values()) + waiting, 0),
            must("sends that came elsewhere than said", abs(called - len(public.arrivals)), 0),
            must("calls of loopback", canaries.calls - 1, 0),
            must("packets to private networks", sealed.packets_to_the_canary() - 1, 0),
        ]


def sing(loopback: str) -> None:
    """Call both canaries ourselves, so that silence means something."""
    socket.create_connection((loopback, PORT)).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.sendto(b"sing", (PRIVATE[0], PORT))
