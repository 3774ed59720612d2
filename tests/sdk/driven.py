"""Both clients of the SDK, driven alike: the synchronous one runs in threads."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from tollhouse_sdk import AsyncTollhouse, Retries, Tollhouse

QUICK = Retries(attempts=5, first_pause_s=0.01, pause_max_s=30)


OPEN: list["Driven"] = []
"""Clients that a test has opened, closed at its end."""


class Driven:
    """A client whose methods are called by name; `called` has the names of all that were."""

    def __init__(self, client: Tollhouse | AsyncTollhouse) -> None:
        self.client = client
        self.called: set[str] = set()

    async def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """The result of a method."""
        self.called.add(name)
        method: Callable[..., Any] = getattr(self.client, name)
        if isinstance(self.client, AsyncTollhouse):
            return await method(*args, **kwargs)
        return await asyncio.to_thread(method, *args, **kwargs)

    async def iterate(self, name: str, /, *args: Any, **kwargs: Any) -> list[Any]:
        """Everything that an iterator yields."""
        method: Callable[..., Any] = getattr(self.client, name)
        return await everything(method(*args, **kwargs))

    async def close(self) -> None:
        """Close the connections."""
        if isinstance(self.client, AsyncTollhouse):
            await self.client.close()
        else:
            self.client.close()


async def everything(items: Iterator[Any] | AsyncIterator[Any]) -> list[Any]:
    """The items of an iterator of either kind."""
    if isinstance(items, AsyncIterator):
        return [item async for item in items]
    return await asyncio.to_thread(list, items)


def driven(kind: type[Tollhouse | AsyncTollhouse], url: str, auth: Any, **more: Any) -> Driven:
    """A client of this kind that repeats quickly."""
    OPEN.append(Driven(kind(url, auth, **_with_retries(more))))
    return OPEN[-1]


def _with_retries(more: dict[str, Any]) -> dict[str, Any]:
    return {"retries": QUICK, **more}
