"""The SDK and the real service: every operation is called by its method, and succeeds."""

import re
from collections.abc import Callable

import pytest

from tests.cast import application, every_scope, sign_up
from tests.receiver import Receiver
from tests.running import Service
from tests.sdk_typescript.document import PREFIX, sdk_document
from tests.sdk_typescript.programs import connected, run

pytestmark = [pytest.mark.xdist_group("npm"), pytest.mark.usefixtures("sdk")]


async def test_every_operation_has_a_method_that_works(make_service: Callable[..., Service], receiver: Receiver) -> None:
    service = make_service(NOTIFY_DEPRECATED_WH="true")
    async with sign_up(service, "alice", "Alice's Coffee") as alice, sign_up(service, "bob", "Bob's Books") as bob:
        connection = await connected(await application(bob), alice, " ".join(await every_scope(bob)))
        key = await alice.key()
        printed = await run("operations.mjs", baseUrl=service.url, apiKey=key, receiver=receiver.url, **connection)
    called = set(printed.splitlines())
    operations = {(method.upper(), path) for path, methods in sdk_document()["paths"].items() for method in methods}
    assert {f"{method} {path}" for method, path in operations if not _is_called(method, path, called)} == set()


def _is_called(method: str, path: str, called: set[str]) -> bool:
    """A path with IDs is called by one that is no other operation's."""
    pattern = re.compile(f"{method} {PREFIX}" + re.sub(r"\{\w+\}", r"(?!statistics)[^/]+", path))
    return any(pattern.fullmatch(one) for one in called)
