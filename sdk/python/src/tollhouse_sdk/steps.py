"""What a request consists of, written once for both clients: a flow yields steps, and a client carries them out.

A flow is a generator. It yields `Send`, `Wait` or `Run`, and gets the result of each; the synchronous client carries them
out in place, the asynchronous one without blocking its loop.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Send:
    """Send this request; the result is an `Answer`. A failed connection is thrown as `ConnectionFailed`."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None = None
    timeout_s: float | None = None


@dataclass(frozen=True)
class Wait:
    """Wait for so long."""

    seconds: float


@dataclass(frozen=True)
class Run:
    """Call this, which can block for a moment: files and databases. The result is what it returns."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class Answer:
    """A response. Names of headers are in lowercase."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""


Step = Send | Wait | Run
Flow = Generator[Step, Any, T]


def send(request: Send) -> Flow[Answer]:
    """One request."""
    answer: Answer = yield request
    return answer


def wait(seconds: float) -> Flow[None]:
    """A pause."""
    yield Wait(seconds)


def run(function: Callable[[], T]) -> Flow[T]:
    """A call that can block for a moment."""
    result: T = yield Run(function)
    return result
