"""The two ways to carry out a flow: in place, or on an event loop. Both send with one HTTP client."""

import asyncio
import time
from typing import Any, Self, TypeVar

import httpx2

from tollhouse_sdk.errors import ConnectionFailed
from tollhouse_sdk.steps import Answer, Flow, Run, Send, Step, Wait

T = TypeVar("T")
TIMEOUT_S = 30.0
UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class Transport:
    """Carries out flows in place. One can be shared by several threads."""

    def __init__(self, http: httpx2.Client | None = None) -> None:
        self._http = http or httpx2.Client(timeout=TIMEOUT_S, follow_redirects=False)

    def complete(self, flow: Flow[T]) -> T:
        """The result of the flow."""
        result: Any = None
        failure: Exception | None = None
        try:
            while True:
                try:
                    step = flow.throw(failure) if failure else flow.send(result)
                except StopIteration as end:
                    return end.value
                result, failure = None, None
                try:
                    result = self._carry_out(step)
                except Exception as problem:  # noqa: BLE001 - the flow decides what it means
                    failure = problem
        finally:
            flow.close()

    def _carry_out(self, step: Step) -> Any:
        match step:
            case Run(function):
                return function()
            case Wait(seconds):
                return time.sleep(seconds)
            case Send():
                try:
                    return _answer(self._http.request(**_arguments(step)))
                except httpx2.TransportError as problem:
                    raise _failed(problem) from problem

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncTransport:
    """Carries out flows on an event loop. What can block runs in threads."""

    def __init__(self, http: httpx2.AsyncClient | None = None) -> None:
        self._http = http or httpx2.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False)

    async def complete(self, flow: Flow[T]) -> T:
        """The result of the flow."""
        result: Any = None
        failure: Exception | None = None
        try:
            while True:
                try:
                    step = flow.throw(failure) if failure else flow.send(result)
                except StopIteration as end:
                    return end.value
                result, failure = None, None
                try:
                    result = await self._carry_out(step)
                except Exception as problem:  # noqa: BLE001 - the flow decides what it means
                    failure = problem
        finally:
            flow.close()

    async def _carry_out(self, step: Step) -> Any:
        match step:
            case Run(function):
                return await asyncio.to_thread(function)
            case Wait(seconds):
                return await asyncio.sleep(seconds)
            case Send():
                try:
                    return _answer(await self._http.request(**_arguments(step)))
                except httpx2.TransportError as problem:
                    raise _failed(problem) from problem

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


class Closing:
    """Used in `with`, closes its connections at the end."""

    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport or Transport()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()


class AsyncClosing:
    """Used in `async with`, closes its connections at the end."""

    def __init__(self, transport: AsyncTransport | None = None) -> None:
        self._transport = transport or AsyncTransport()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()


def _arguments(step: Send) -> dict[str, Any]:
    timeout = {} if step.timeout_s is None else {"timeout": step.timeout_s}
    return {"method": step.method, "url": step.url, "headers": dict(step.headers), "content": step.content, **timeout}


def _answer(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content)


def _failed(problem: httpx2.TransportError) -> ConnectionFailed:
    was_sent = not isinstance(problem, UNSENT)
    return ConnectionFailed(f"No response: {type(problem).__name__} {problem}".rstrip(), was_sent=was_sent)
