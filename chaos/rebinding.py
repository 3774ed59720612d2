"""DNS rebinding: names resolve to a public address first and to a private one later. No private address is called."""

import random
import socket
from collections import Counter
from collections.abc import Sequence

from chaos import network_namespace
from chaos.figures import Figure, at_most, fact
from chaos.name_server import NameServer
from chaos.producer import Destination, Producer
from chaos.receivers import Receivers, respond_once
from chaos.testbed import Testbed

SENDS, QUICK_SENDS = 10_000, 500
SENDS_PER_S = 100
NAMES = 200
PORT = 8080
PUBLIC_NETWORK, PUBLIC = "93.184.216.0/24", "93.184.216.34"
PRIVATE_NETWORKS = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"]
PRIVATE = ["10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "198.18.0.1", "127.0.0.1", "127.0.0.2"]
LOOPBACK_CANARIES = ["127.0.0.1", "127.0.0.2"]
ENDED_WITHIN_S = 60.0

ATTEMPTS = "SELECT coalesce(error, 'succeeded') AS result, count(*) AS attempts FROM webhook_attempts GROUP BY 1"


class Rebinding:
    """Answers that change from one query to the next."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def answer(self, name: str) -> Sequence[str]:
        """A public address first, then private, public, or both in either order."""
        turn = self._asked[name]
        self._asked[name] += 1
        private = random.choice(PRIVATE)
        return [[PUBLIC], [private], [PUBLIC], [PUBLIC, private], [PUBLIC], [private, PUBLIC]][turn % 6]


async def run(*, quick: bool) -> list[Figure]:
    """Send 10,000 webhooks, or 500."""
    sends = QUICK_SENDS if quick else SENDS
    network_namespace.prepare_canary(PRIVATE_NETWORKS, PUBLIC_NETWORK)
    async with (
        Testbed(TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="") as testbed,
        NameServer(Rebinding().answer, *network_namespace.NAME_SERVER) as names,
        Receivers([PUBLIC], respond_once, port=PORT) as public,
        Receivers(LOOPBACK_CANARIES, port=PORT) as canaries,
    ):
        check_canaries(LOOPBACK_CANARIES[0])
        testbed.start_worker(alone=True)
        env = await testbed.merchant("test")
        targets = [Destination(env, f"http://name-{n}.rebinding.example:{PORT}/hook") for n in range(NAMES)]
        numbers = await Producer(testbed).produce(targets, SENDS_PER_S, sends / SENDS_PER_S)
        waiting = await testbed.wait_until_delivered(ENDED_WITHIN_S)
        results = {row["result"]: row["attempts"] for row in await testbed.services.db.fetch(ATTEMPTS)}
        called = results.pop("succeeded", 0)
        blocked = results.pop("blocked_destination", 0)
        return [
            fact("sends", len(numbers)),
            fact("questions to the name server", len(names.asked)),
            fact("sends to the public address", called),
            fact("sends that were blocked", blocked),
            at_most("sends that ended otherwise", sum(results.values()) + waiting, 0),
            at_most("sends that came elsewhere than said", abs(called - len(public.arrivals)), 0),
            at_most("calls of loopback", canaries.calls - 1, 0),
            at_most("packets to private networks", network_namespace.packets_to_the_canary() - 1, 0),
        ]


def check_canaries(loopback: str) -> None:
    """Call both canaries once, to verify that they count."""
    socket.create_connection((loopback, PORT)).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.sendto(b"call_canaries", (PRIVATE[0], PORT))
