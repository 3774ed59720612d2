"""Deliveries as the libraries of others verify them, in Python and JavaScript: with both secrets during a rotation."""

import asyncio
from collections.abc import Iterator

import msgspec
import pytest
import standardwebhooks
import svix.webhooks

from tests.cast import Actor
from tests.clients.driven import NODE
from tests.receiver import Received, Receiver

LIBRARIES = ("standardwebhooks", "svix")
FAILURES = (standardwebhooks.WebhookVerificationError, svix.webhooks.WebhookVerificationError)


def is_genuine(library: str, secret: str, got: Received) -> bool:
    """Whether the library of this name for Python accepts a delivery."""
    webhook = standardwebhooks.Webhook(secret) if library == "standardwebhooks" else svix.webhooks.Webhook(secret)
    try:
        webhook.verify(got.raw, dict(got.headers))
    except FAILURES:
        return False
    return True


async def in_node(cases: list[tuple[str, str, Received]]) -> list[bool]:
    """The same in JavaScript."""
    given = b"".join(
        msgspec.json.encode({"library": library, "secret": secret, "body": got.raw.decode(), "headers": dict(got.headers)})
        + b"\n"
        for library, secret, got in cases
    )
    process = await asyncio.create_subprocess_exec(
        "node", "verify.mjs", cwd=NODE, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate(given)
    return [msgspec.json.decode(line) for line in printed.splitlines()]


async def rotated(actor: Actor, **body: int) -> str:
    secret: str = (await actor.post("/webhook/rotate-secret", body)).ok().body["secret"]
    return secret


async def delivered(actor: Actor, receiver: Receiver) -> Received:
    """A delivery of now."""
    receiver.received.clear()
    (await actor.post("/webhook/test", {"url": receiver.url})).ok(202)
    [got] = await receiver.wait()
    return got


async def overlapping(alice: Actor, receiver: Receiver) -> tuple[tuple[str, str, str], Received, Received, Received]:
    """Three secrets, and a delivery before, during and after the overlap of the first two."""
    first = await rotated(alice)
    before = await delivered(alice, receiver)
    second = await rotated(alice, overlap_hours=24)
    during = await delivered(alice, receiver)
    third = await rotated(alice)
    return (first, second, third), before, during, await delivered(alice, receiver)


def expected(secrets: tuple[str, str, str], deliveries: tuple[Received, ...]) -> Iterator[tuple[str, Received, bool]]:
    """Every secret, every delivery, and whether it is genuine."""
    right = ((True, False, False), (True, True, False), (False, False, True))
    for got, genuine in zip(deliveries, right, strict=True):
        for secret, is_right in zip(secrets, genuine, strict=True):
            yield secret, got, is_right


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_library_for_python_accepts_both_secrets_during_the_overlap(
    alice: Actor, receiver: Receiver, library: str
) -> None:
    secrets, *deliveries = await overlapping(alice, receiver)
    for secret, got, is_right in expected(secrets, tuple(deliveries)):
        assert is_genuine(library, secret, got) == is_right


@pytest.mark.long
@pytest.mark.xdist_group("npm")
@pytest.mark.usefixtures("npm_packages")
async def test_so_do_the_libraries_for_javascript(alice: Actor, receiver: Receiver) -> None:
    secrets, *deliveries = await overlapping(alice, receiver)
    cases = [
        (library, secret, got, is_right)
        for library in LIBRARIES
        for secret, got, is_right in expected(secrets, tuple(deliveries))
    ]
    assert await in_node([(library, secret, got) for library, secret, got, _ in cases]) == [
        is_right for *_, is_right in cases
    ]
