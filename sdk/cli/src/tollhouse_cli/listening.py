"""Forwarding of events to an endpoint on this machine: for the command, and as a library for tests.

```python
with Tollhouse(url, key) as tollhouse, forwarding(tollhouse, "http://localhost:8080/hooks") as forwarded:
    ...  # make something happen
    forwarded.wait_for("payment.succeeded")
```
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tollhouse_sdk import Checkpoint, ConnectionFailed, Feed, FeedEvent, MemoryCheckpoint, Position, Reading, Tollhouse
from tollhouse_sdk.steps import Send, send
from tollhouse_sdk.transports import Transport

FORWARD_S = 10.0
RARE = ("payment.chargeback",)
"""A type of which there are few: pages of it reach the end of the feed soon."""


@dataclass(frozen=True)
class Forwarded:
    """An event that was forwarded, with the status of the endpoint, or why there is none."""

    event: FeedEvent
    status: int | None
    error: str | None


class Listener:
    """Forwards every event after a checkpoint. Without one, it begins at the end of the feed."""

    def __init__(
        self, tollhouse: Tollhouse, forward_to: str, checkpoint: Checkpoint | None = None, types: Sequence[str] = ()
    ) -> None:
        self._tollhouse = tollhouse
        self._forward_to = forward_to
        self._checkpoint = checkpoint or MemoryCheckpoint()
        self._types = types
        self._transport = Transport()
        self._mode = ""

    def begin_at_end(self) -> None:
        """Begin here, unless the checkpoint was moved before: what was sent meanwhile is forwarded."""
        if self._checkpoint.load() == Position():
            self._checkpoint.save(end_of(self._tollhouse))

    def forwarded(self, *, follow: bool = True, wait_s: int = 30) -> Generator[Forwarded]:
        """Forward event by event. Where there is no connection for a while, it goes on where it was."""
        pause_s = 1.0
        while True:
            feed = Feed(self._tollhouse, self._checkpoint, Reading(types=self._types, wait_s=wait_s))
            try:
                for event in feed.events(follow=follow):
                    yield self._forward(event)
                    pause_s = 1.0
            except ConnectionFailed:
                if not follow:
                    raise
                time.sleep(pause_s)
                pause_s = min(pause_s * 2, 30.0)
                continue
            return

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._transport.close()

    def _forward(self, event: FeedEvent) -> Forwarded:
        headers = {
            "Content-Type": "application/json",
            "X-Service-Event-Id": event.id,
            "X-Service-Event-Type": event.type,
            "X-Service-Mode": event.payload["mode"],
            "X-Service-Position": str(event.position),
            **event.headers,
        }
        request = Send("POST", self._forward_to, headers, event.body.encode(), FORWARD_S)
        try:
            return Forwarded(event, self._transport.complete(send(request)).status, None)
        except ConnectionFailed as problem:
            return Forwarded(event, None, str(problem))


def end_of(tollhouse: Tollhouse) -> Position:
    """The end of the feed."""
    *_, last = Feed(tollhouse, MemoryCheckpoint(), Reading(types=RARE)).pages(follow=False)
    return Position(last.feed_id, last.next)


class Forwarding:
    """What was forwarded so far, by a thread."""

    def __init__(self) -> None:
        self.events: list[Forwarded] = []
        self._arrived = threading.Condition()

    def add(self, forwarded: Forwarded) -> None:
        """Another one."""
        with self._arrived:
            self.events.append(forwarded)
            self._arrived.notify_all()

    def wait_for(
        self, event_type: str, timeout_s: float = 30.0, where: Callable[[FeedEvent], bool] | None = None
    ) -> Forwarded:
        """The first event of a type, and of which `where` is true; raises `TimeoutError`."""

        def found() -> list[Forwarded]:
            return [one for one in self.events if one.event.type == event_type and (where is None or where(one.event))]

        with self._arrived:
            if not self._arrived.wait_for(found, timeout_s):
                raise TimeoutError(f"No event of type {event_type} within {timeout_s:g} s.")
            return found()[0]


@contextmanager
def forwarding(tollhouse: Tollhouse, forward_to: str, types: Sequence[str] = ()) -> Generator[Forwarding]:
    """Forward what happens from now on, in a thread, until the `with` block ends."""
    listener, forwarded, stopped = Listener(tollhouse, forward_to, types=types), Forwarding(), threading.Event()
    listener.begin_at_end()

    def forward() -> None:
        while not stopped.is_set():
            for one in listener.forwarded(follow=False):
                forwarded.add(one)
            stopped.wait(0.2)

    thread = threading.Thread(target=forward, daemon=True)
    thread.start()
    try:
        yield forwarded
    finally:
        stopped.set()
        thread.join()
        listener.close()
