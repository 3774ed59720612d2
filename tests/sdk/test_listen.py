"""Events forwarded to a machine that nobody can reach: with their signatures, after sleep, and as a library for tests."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Actor
from tests.receiver import Receiver
from tests.sdk.driven import driven
from tests.sdk.proxy import Proxy
from tests.sdk.test_feed import happened
from tollhouse_cli.listening import Listener, end_of, forwarding
from tollhouse_cli.main import main
from tollhouse_sdk import MemoryCheckpoint, Position, Tollhouse, verify

pytestmark = pytest.mark.usefixtures("feed")

Run = Callable[..., Any]


@pytest.fixture
async def run(alice: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command with Alice's key; the result is what it printed."""
    monkeypatch.setenv("TOLLHOUSE_CLI_CONFIG", str(tmp_path))
    monkeypatch.setenv("TOLLHOUSE_API_KEY", await alice.key())

    async def command(*arguments: str) -> list[str]:
        capsys.readouterr()
        status = await asyncio.to_thread(main, [f"--url={alice.service.url}", *arguments])
        said = capsys.readouterr()
        assert status == 0, said.err
        return [line for line in said.out.splitlines() if "\x1b[" not in line]

    return command


async def test_it_goes_on_where_it_ended_with_signatures(run: Run, alice: Actor, receiver: Receiver) -> None:
    await happened(alice, 2)
    listen = ("listen", "--once", "--forward-to", receiver.url)
    assert await run(*listen) == []
    secret = (await alice.post("/webhook/rotate-secret")).ok().body["secret"]
    positions = await happened(alice, 2)
    said = await run(*listen)
    assert [line.endswith("-> 200") for line in said] == [True, True]
    assert [one.headers["X-Service-Position"] for one in receiver.received] == [str(one) for one in positions[2:]]
    assert verify(receiver.received[0].raw, receiver.received[0].headers, secret)["type"] == "balance.updated"
    assert receiver.received[0].headers["X-Service-Event-Type"] == "balance.updated"
    assert await run(*listen) == []


async def test_an_endpoint_that_is_away_is_said(run: Run, alice: Actor) -> None:
    await happened(alice, 1)
    [line] = await run("--json", "listen", "--once", "--from-start", "--forward-to", "http://127.0.0.1:1/hook")
    said = json.loads(line)
    assert (said["position"], said["status"], "No response" in said["error"]) == (1, None, True)


async def test_types_are_selected_and_events_are_printed(run: Run, alice: Actor) -> None:
    [position] = await happened(alice, 1)
    [line] = await run("events", "tail", "--once", "--from-start", "--events", "balance.updated, payment.failed")
    assert f" {position} balance.updated " in line
    assert await run("events", "tail", "--once") == []
    assert await run("events", "tail", "--once", "--from-start", "--events", "payment.failed") == []


async def test_a_test_of_an_integrator_waits_for_what_was_forwarded(alice: Actor, receiver: Receiver) -> None:
    await happened(alice, 1)
    key = await alice.key()

    def test() -> list[str]:
        with Tollhouse(alice.service.url, key) as tollhouse, forwarding(tollhouse, receiver.url) as forwarded:
            link = tollhouse.open_link(display_name="Coffee", amount="4.20", currency="EUR")
            tollhouse.simulate_link(link["id"], outcome="succeed")
            paid = forwarded.wait_for("payment.succeeded", where=lambda event: link["id"] in event.body)
            assert (paid.status, paid.error) == (200, None)
            with pytest.raises(TimeoutError):
                forwarded.wait_for("payment.failed", timeout_s=0.01)
            return [one.event.type for one in forwarded.events]

    assert (await asyncio.to_thread(test)).count("payment.succeeded") == 1


async def test_it_goes_on_after_the_connection_was_lost(alice: Actor, proxy: Proxy, receiver: Receiver) -> None:
    """As after sleep: the service is away for longer than the client repeats."""
    positions = await happened(alice, 2)
    client: Any = driven(Tollhouse, proxy.url, await alice.key()).client
    assert (await asyncio.to_thread(end_of, client)).position == positions[-1]
    listener = Listener(client, receiver.url, MemoryCheckpoint(Position()))
    forwarded = listener.forwarded(wait_s=1)
    first = await asyncio.to_thread(next, forwarded)
    proxy.plan.extend(["lose"] * 6)
    [*_, position] = await happened(alice, 1)
    rest = [await asyncio.to_thread(next, forwarded) for _ in range(2)]
    assert [one.event.position for one in (first, *rest)] == [*positions, position]
    forwarded.close()
    listener.close()
