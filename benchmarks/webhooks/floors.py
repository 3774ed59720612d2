"""The floors, each a process of its own: `python -m benchmarks.webhooks.floors client|queue …`.

`client PORT CALLS COUNT` sends so many requests of the product's size, so many at once, with its client and no database;
it prints how many a second. `queue` is the worker, but for its calls: they succeed at once without a network.
"""

import asyncio
import signal
import sys
import time
from typing import Self

import msgspec

from benchmarks.webhooks.harness import DATA, MERCHANTS
from tollhouse.instance import main
from tollhouse.instance.worker import run, work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.log import events as log
from tollhouse.platform.outgoing.outbound import Outbound, Outcome
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import Settings
from tollhouse.webhooks.delivery import worker
from tollhouse.webhooks.delivery.signed_request import USER_AGENT, signature, standard_headers
from tollhouse.webhooks.events.record import payload

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="  # noqa: S105 - of nobody


async def client(port: int, calls: int, count: int) -> None:
    """Send, and print the rate."""
    event_id, now, left = new_id(), clock.now(), iter(range(count))
    env = MerchantEnv(MerchantId(event_id), "live")
    body = msgspec.json.encode(payload(event_id, env, "payment.succeeded", 1, DATA, now))
    headers = {
        "Content-Type": "application/json; charset=utf-8", "User-Agent": USER_AGENT, "X-Service-Event-Id": str(event_id),
        "X-Service-Event-Type": "payment.succeeded", "X-Service-Mode": "live", "X-Service-Attempt": "1",
        "X-Service-Signature": signature(SECRET, body), **standard_headers([SECRET], event_id, 1, body),
    }  # fmt: skip
    async with Outbound(config.load()) as outbound:

        async def caller() -> None:
            for number in left:
                outcome = await outbound.post(
                    f"http://127.0.0.{number % MERCHANTS + 1}:{port}/webhooks/tollhouse", body, headers
                )
                if not outcome.succeeded:
                    raise RuntimeError(outcome.error)

        began = time.monotonic()
        await asyncio.gather(*(caller() for _ in range(calls)))
        print(count / (time.monotonic() - began))


class Nowhere:
    """A way out that leads nowhere, and succeeds."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def post(self, url: str, body: bytes, headers: dict[str, str], *, kept_bytes: int = 0) -> Outcome:  # noqa: ARG002
        """Let others go first, as a call would."""
        await asyncio.sleep(0)
        return Outcome(None, 200, 0)


async def queue() -> None:
    """Work until stopped."""
    log.set_up(human=False)
    worker.Outbound = Nowhere  # type: ignore[assignment,misc]
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await work(main.create_services(config.load()), stop, main.JOBS)


if __name__ == "__main__":
    run(client(*map(int, sys.argv[2:])) if sys.argv[1] == "client" else queue())
