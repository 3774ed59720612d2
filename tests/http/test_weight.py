"""The bytes sent for a page and all it loads, fonts included: 60 kB at most for a checkout, 120 for the dashboard."""

import re

import pytest

from tests.cast import Actor, Answer
from tests.payments.shop import choose, open_link, visit
from tollhouse.accounts.identity.guards import SessionGuard
from tollhouse.http.static_files import static
from tollhouse.instance.api import OPERATIONS

CHECKOUT_BYTES_MAX, PAGE_BYTES_MAX = 60_000, 120_000
LOADED = re.compile(r'<(?:link rel="(?:stylesheet|icon|preload)"|script|img)[^>]* (?:href|src)="(/[^"]+)"')
MINE = [
    operation.path.replace("{mode}", "test")
    for operation in OPERATIONS
    if operation.method == "GET"
    and isinstance(operation.guard, SessionGuard)
    and operation.surface.html
    and not re.search(r"\{(?!mode\})|\.\w+$", operation.path)
]
PUBLIC = [
    "/signin",
    "/signup",
    "/docs",
    "/docs/api",
    "/docs/api/errors",
    "/docs/api/list_transactions",
    "/docs/api/open_link",
    "/docs/search?q=payment",
    "/docs/try",
    "/docs/webhooks",
]


def sent_bytes(answer: Answer) -> int:
    """The bytes of the body as it was sent."""
    return int(answer.headers["Content-Length"])


async def weight(actor: Actor, shown: Answer, seen: dict[str, int]) -> int:
    """The bytes of a page and of all it loads. `seen` keeps what was weighed before."""
    loaded = {static("fonts/geist-mono-latin.woff2"), *LOADED.findall(shown.text)}
    for address in loaded - seen.keys():
        seen[address] = sent_bytes((await actor.anonymously("GET", address)).ok())
    return sent_bytes(shown) + sum(seen[address] for address in loaded)


async def test_a_checkout_is_light(alice: Actor) -> None:
    link = await open_link(alice)
    first = (await visit(link, alice)).ok()
    (await choose(link)).ok(303)
    chosen = (await visit(link, alice)).ok()
    for shown in (first, chosen):
        assert await weight(alice, shown, {}) <= CHECKOUT_BYTES_MAX


def of_html(answer: Answer) -> bool:
    """Whether it is a page, and no file."""
    return answer.status == 200 and answer.headers["content-type"].startswith("text/html")


@pytest.mark.long
async def test_the_dashboard_is_light(alice: Actor) -> None:
    for _ in range(21):
        await open_link(alice)
    assert len(MINE) > 10
    seen: dict[str, int] = {}
    heavy: dict[str, int] = {}
    for path in MINE:
        shown = await alice.send("GET", path, headers={"Accept": "text/html"})
        if of_html(shown) and (found := await weight(alice, shown, seen)) > PAGE_BYTES_MAX:
            heavy[path] = found
    assert not heavy


@pytest.mark.parametrize("path", PUBLIC)
async def test_what_everybody_can_read_is_light(alice: Actor, path: str) -> None:
    shown = (await alice.anonymously("GET", path, headers={"Accept": "text/html"})).ok()
    assert await weight(alice, shown, {}) <= PAGE_BYTES_MAX
