"""No spelling of an address that must not be called is taken, none is called, and no name leads to one."""

import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from tests.cast import Actor, sign_up
from tests.running import Service, settings_for
from tests.webhooks.events.address_forms import LEADING_ASTRAY, SPELLINGS
from tests.webhooks.events.raw import RawServer, says
from tollhouse.platform.outgoing.outbound import LookUp, Outbound, Outcome
from tollhouse.platform.settings.config import Settings
from tollhouse.webhooks.events.destination import check_destination_url

INGRESS = "8.8.4.4"
CLOSED: dict[str, Any] = {"TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": "", "TOLLHOUSE_INGRESS_IP": INGRESS}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
NOBODY = 9
"""The port that our own question of the kernel names; asking sends nothing."""


WATCHED: ContextVar[bool] = ContextVar("watched", default=False)
"""Set by the task of a test and inherited by the tasks that it starts; services of other tests run in this process too."""


class Watch:
    """What the watched task asked of the kernel: connections that it began, names that it looked up.

    Threads that look names up have no context. There the destinations of other tests, at `shop.`, are left out.
    """

    def __init__(self) -> None:
        self.on = False
        self.connected: list[Any] = []
        self.looked_up: list[str] = []

    def see(self, event: str, reported: tuple[Any, ...]) -> None:
        """Python tells of both before they happen."""
        if self.on and WATCHED.get() and event == "socket.connect" and reported[1][1] != NOBODY:
            self.connected.append(reported[1])
        if self.on and event == "socket.getaddrinfo" and not reported[0].startswith("shop."):
            self.looked_up.append(reported[0])


WATCH = Watch()


@pytest.fixture(scope="module")
def settings() -> Settings:
    """Settings of production, with an ingress."""
    return settings_for("postgresql:///nowhere", **CLOSED)


@pytest.fixture(scope="module", autouse=True)
def hook() -> None:
    """Python cannot take a hook back; this one is deaf outside these tests."""
    sys.addaudithook(WATCH.see)


@pytest.fixture(scope="module")
def closed(make_service: Callable[..., Service]) -> Service:
    """A service with settings of production."""
    return make_service(fresh=True, **CLOSED)


@pytest.fixture
async def canary() -> AsyncIterator[RawServer]:
    """Sings when somebody comes."""
    async with RawServer(says(OK)) as server:
        yield server


@pytest.fixture
def watch(canary: RawServer) -> Iterator[Watch]:
    """A watch that sees this test alone; the canary is in its cage before it begins."""
    assert canary.port
    WATCH.connected, WATCH.looked_up, WATCH.on = [], [], True
    yield WATCH
    WATCH.on = False


async def post(settings: Settings, *urls: str, look_up: LookUp = socket.getaddrinfo) -> list[Outcome]:
    """Call each of them, watched."""
    WATCHED.set(True)
    async with Outbound(settings, deadline_s=5, look_up=look_up) as outbound:
        return [await outbound.post(url, b"{}", {}) for url in urls]


def leads_to(*addresses: str) -> LookUp:
    """A resolver that knows these addresses for every name."""

    def look_up(host: str, port: int, family: int, kind: int) -> list[Any]:
        WATCH.looked_up.append(host)
        assert family == socket.AF_INET
        return [(family, kind, 6, "", (address, port)) for address in addresses]

    return look_up


def test_the_table_is_long_enough() -> None:
    assert len({url for urls in SPELLINGS.values() for url in urls}) + len(LEADING_ASTRAY) >= 400


@pytest.mark.covers("W-13", "W-57", "W-58", "W-64", "W-65", "S-56")
@pytest.mark.parametrize("kind", SPELLINGS)
@pytest.mark.parametrize("livemode", [True, False], ids=["live", "test"])
def test_no_spelling_is_taken(kind: str, livemode: bool, settings: Settings) -> None:
    taken = [
        url for url in SPELLINGS[kind] if check_destination_url(filled(url), livemode=livemode, settings=settings) is None
    ]
    assert taken == []


@pytest.mark.covers("W-57", "W-58", "W-64", "W-65", "S-56")
@pytest.mark.parametrize("kind", SPELLINGS)
async def test_no_spelling_is_called(kind: str, settings: Settings, canary: RawServer, watch: Watch) -> None:
    """As if it had been saved under older rules, where every name means loopback."""
    urls = [filled(url, canary.port) for url in SPELLINGS[kind]]
    outcomes = await post(settings, *urls, look_up=leads_to("127.0.0.1"))
    ended = dict(zip(urls, outcomes, strict=True))
    assert {url for url, one in ended.items() if (one.error, one.http_status) != ("blocked_destination", None)} == set()
    assert not watch.connected
    assert not canary.peers
    assert kind == "a name of something near to us" or not watch.looked_up


@pytest.mark.covers("W-59", "W-60", "W-61", "W-64", "S-56")
@pytest.mark.parametrize("answer", LEADING_ASTRAY, ids=" ".join)
async def test_no_name_leads_astray(answer: list[str], settings: Settings, canary: RawServer, watch: Watch) -> None:
    url = f"http://hook.example.com:{canary.port}/"
    assert check_destination_url(url, livemode=False, settings=settings) is None
    [outcome] = await post(settings, url, look_up=leads_to(*answer))
    assert (outcome.error, outcome.http_status) == ("blocked_destination", None)
    assert watch.looked_up == ["hook.example.com"]
    assert not watch.connected
    assert not canary.peers


@pytest.mark.covers("S-56")
async def test_the_watch_sees_a_call_that_is_allowed(canary: RawServer, watch: Watch) -> None:
    settings = settings_for("postgresql:///nowhere")
    [outcome] = await post(settings, f"http://127.0.0.1:{canary.port}/")
    assert outcome.succeeded
    assert watch.connected == [("127.0.0.1", canary.port)]
    assert canary.peers


@pytest.mark.covers("S-56")
async def test_the_environment_names_no_proxy(
    canary: RawServer, watch: Watch, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    [outcome] = await post(settings, "http://hook.example.com/", look_up=leads_to("10.0.0.1"))
    assert outcome.error == "blocked_destination"
    assert not watch.connected


@pytest.mark.covers("W-13", "W-57", "W-58", "W-65", "W-82", "S-56")
async def test_the_api_refuses_every_spelling(closed: Service) -> None:
    async with sign_up(closed, "alice", "Alice's Coffee") as alice:
        (await alice.post("/webhook/rotate-secret")).ok()
        reported = {url: await error(alice, url) for urls in SPELLINGS.values() for url in urls if fits_json(url)}
        assert len(reported) > 350
        assert {url for url, problems in reported.items() if set(problems) != {"url"}} == set()
        assert (await alice.get("/webhook-events")).ok().body["webhook_events"] == []


async def error(actor: Actor, url: str) -> dict[str, str]:
    """Which fields are named when a test is to be sent there."""
    return (await actor.post("/webhook/test", {"url": filled(url)})).field_errors()


def fits_json(url: str) -> bool:
    """NUL and half a character are refused with the body (400), before anybody reads them as part of an address."""
    return not any(char == "\0" or 0xD800 <= ord(char) < 0xE000 for char in url)


def filled(url: str, port: int = 8080) -> str:
    """With the canary's port."""
    return url.replace("{port}", str(port))
