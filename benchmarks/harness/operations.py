"""An operation that is measured, and how the floor learns it from the product."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

from benchmarks.harness.fold import Call, fold
from benchmarks.harness.requests import READERS, Wire, digest
from benchmarks.harness.trace import Seen, Trace, compare
from benchmarks.harness.watch import Watched

Items = Callable[[str, int], Awaitable[list[str]]]
WARM_UP = 2


class Operation(Struct, frozen=True):
    """One operation. `items` creates so many for a party: each makes one request.

    `renews`: the response holds the item that follows. `once`: an item is good for one request. `done` counts what was
    accomplished. `owners`: items so far apart have the same merchant.
    """

    name: str
    kind: str
    goal: str
    wire: Wire
    items: Items
    renews: bool = False
    once: bool = False
    done: str = ""
    owners: int = 2
    keep: Callable[[str, list[str]], None] = lambda _party, _items: None


async def learn(
    connection: "asyncpg.Connection[Any]", watched: Watched, operation: Operation, merchants: Mapping[str, UUID]
) -> tuple[Trace, Call]:
    """Do the operation often enough that nothing is the first time; then watch three requests, and fold them into a call."""
    items = await operation.items("watched", operation.owners + 2 + WARM_UP)
    for item in items[-WARM_UP:]:
        await watched.see(operation.wire.of(item))
    seen = [await see(watched, operation, items[place], merchants) for place in (0, operation.owners, 1)]
    trace = await compare(connection, seen)
    return trace, await fold(connection, operation.name, trace)


async def see(watched: Watched, operation: Operation, item: str, merchants: Mapping[str, UUID]) -> Seen:
    """Watch one request, and name its values."""
    raw = operation.wire.of(item)
    seen = await watched.see(raw)
    head, _, body = raw.partition("\r\n\r\n")
    path, lines = head.split(" ")[1], (line.partition(": ") for line in head.split("\r\n")[1:])
    headers = {name.lower().encode(): value.encode() for name, _, value in lines}
    names = READERS[operation.kind](headers, path, body.encode(), merchants) | issued(seen.answer)
    seen.known.update({value: name for name, value in names.items()})
    return seen


def issued(answer: dict[str, Any]) -> dict[str, Any]:
    """The values of a token response, by name."""
    names: dict[str, Any] = {}
    if access := answer.get("access_token"):
        names |= {"access_token": access, "access_hash": digest(access)}
    if refresh := answer.get("refresh_token"):
        grant = refresh.partition("_")[2][:32]
        names |= {"next_refresh_token": refresh, "next_refresh_hash": digest(refresh), "grant_id": UUID(grant)}
    return names
