"""The body of `balance.updated` is the same whether the program or the database fills in the values of the posting."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest

from tests.cast import Actor, sign_up
from tests.running import Service, settings_for
from tollhouse.http.services import Services, Work
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.model import (
    Account,
    JournalEntry,
    LedgerTransaction,
    PostedTransaction,
    Posting,
    Source,
    available,
    debt,
    equity,
    income,
    payable,
    rail,
    reserved,
)
from tollhouse.ledger.books.post import post, post_now
from tollhouse.ledger.books.store import get_balance
from tollhouse.ledger.books.views import balance_view, entry_view
from tollhouse.platform.database.packed_json import unpack
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.webhooks.events.record import payload

VOLATILE = ("id", "created_at", "updated_at", "ledger_transaction_id", "source_id")
BODIES = """
    SELECT body, sequence FROM webhook_events
    WHERE merchant_id = $1 AND source_type = 'ledger_entry' ORDER BY sequence, source_id
"""


@pytest.fixture(scope="module")
def apart(server: embedded.Server) -> Iterator[Service]:
    """A service with books of its own, which name rails that have no payments."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def shop(apart: Service) -> AsyncIterator[Actor]:
    """A merchant there."""
    async with sign_up(apart, "shop", "The Shop") as actor:
        yield actor


@pytest.fixture
async def other_shop(apart: Service) -> AsyncIterator[Actor]:
    """Another one."""
    async with sign_up(apart, "other", "The Other Shop") as actor:
        yield actor


def postings_of(env: MerchantEnv, currency: str) -> list[tuple[Posting, ...]]:
    """Journal entries of all shapes: one and several postings, two accounts of one merchant, and debt."""

    def posting(kind: Any, minor: int, debit: Account, credit: Account) -> Posting:
        return Posting(kind, currency, minor, debit, credit)

    return [
        (posting("test_funding", 1_000_000_005, equity("test_funding"), available(env)),),
        (
            posting("payment", 7, rail("sandbox"), available(env)),
            posting("payment_fee", 1, available(env), income("payment_fee")),
        ),
        (posting("hold", 40, available(env), reserved(env)),),
        (posting("adjustment", 3, debt(env), payable("reserve")),),
    ]


async def bodies(services: Services, env: MerchantEnv, currency: str, *, deferred: bool) -> list[bytes]:
    """Post everything and return the bodies of the events: as they are stored, or as the program would encode them."""
    encoded: list[bytes] = []
    for number, postings in enumerate(postings_of(env, currency)):
        source_id = UUID(int=number)

        async def action(work: Work, postings: tuple[Posting, ...] = postings, number: int = number) -> LedgerTransaction:
            entry = JournalEntry("test", postings[0].type, Source("transaction", new_id(), number), postings)
            cause = Cause("transaction", source_id, "50% ÿ \x00 %1$s", 3)  # noqa: B023 - awaited here
            if deferred:
                posted = await post(work, entry)
                await notify_balance(work, env, currency, posted, cause, "https://shop.example/%s/%1$s")
                return posted
            written = await post_now(work, entry)
            encoded.append(await encode(work, env, currency, written, cause))
            return written

        await services.transact(action, clock.now())
    return encoded or [unpack(row["body"]) for row in await services.db.fetch(BODIES, env.merchant_id)]


async def encode(work: Work, env: MerchantEnv, currency: str, posted: PostedTransaction, cause: Cause) -> bytes:
    """The body with the values that the program reads after the posting."""
    decimals = work.services.catalogue.currencies[currency].decimals
    view = balance_view(await get_balance(work.tx, env, currency), env, decimals)
    data = {"object": view, "source": cause, "entries": [entry_view(entry, env, decimals) for entry in posted.entries]}
    return msgspec.json.encode(payload(new_id(), env, "balance.updated", view.version, data, work.now))


def comparable(value: Any) -> Any:
    """A body without what differs from one run to another, but with the order of its members."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return [(name, "…" if name in VOLATILE else comparable(one)) for name, one in members.items()]
    return [comparable(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


@pytest.mark.parametrize("currency", ["EUR", "BTC"])
async def test_both_bodies_are_the_same(apart: Service, shop: Actor, other_shop: Actor, currency: str) -> None:
    services = apart.create_services()
    env, other_env = (MerchantEnv(MerchantId(UUID(actor.merchant_id)), "test") for actor in (shop, other_shop))
    written = await bodies(services, env, currency, deferred=False)
    filled = await bodies(services, other_env, currency, deferred=True)
    await services.db.close()
    assert len(written) == len(filled) == 4
    for one, other in zip(written, filled, strict=True):
        first, second = (msgspec.json.decode(body) for body in (one, other))
        assert comparable(first) == comparable(second)
        assert second["data"]["object"]["updated_at"] == second["data"]["entries"][-1]["created_at"]
        assert len(one) == len(other)  # no space and no escape differs
        assert msgspec.json.encode(second) == other


async def test_a_repaid_debt_is_an_entry_of_the_event(apart: Service, shop: Actor) -> None:
    services = apart.create_services()
    env = MerchantEnv(MerchantId(UUID(shop.merchant_id)), "test")
    owed = Posting("adjustment", "EUR", 30, debt(env), payable("reserve"))

    async def action(work: Work, posting: Posting = owed) -> None:
        entry = JournalEntry("test", posting.type, Source("transaction", new_id()), (posting,))
        await notify_balance(work, env, "EUR", await post(work, entry), Cause("transaction", new_id(), "paid", 1), None)

    await services.transact(action, clock.now())
    paid = Posting("payment", "EUR", 100, rail("sandbox"), available(env))
    await services.transact(lambda work: action(work, paid), clock.now())
    last = msgspec.json.decode(unpack((await services.db.fetch(BODIES, env.merchant_id))[-1]["body"]))
    await services.db.close()
    assert [entry["type"] for entry in last["data"]["entries"]] == ["payment", "settlement", "settlement"]
    assert (last["data"]["object"]["available"], last["data"]["object"]["debt"]) == ("0.70", "0.00")


async def test_a_hold_shows_in_the_breakdown(apart: Service, shop: Actor) -> None:
    services = apart.create_services()
    env = MerchantEnv(MerchantId(UUID(shop.merchant_id)), "test")
    funding = Posting("test_funding", "EUR", 500, equity("test_funding"), available(env))
    await services.transact(
        lambda work: post_now(work, JournalEntry("test", "test_funding", Source("test_funding", new_id()), (funding,))),
        clock.now(),
    )

    async def action(work: Work) -> None:
        _, posted = await holds.reserve(work, env, Source("withdrawal", new_id()), "EUR", 120)
        await notify_balance(work, env, "EUR", posted, Cause("withdrawal", new_id(), "requested", 1), None)

    await services.transact(action, clock.now())
    [row] = await services.db.fetch(BODIES, env.merchant_id)
    await services.db.close()
    shown = msgspec.json.decode(unpack(row["body"]))["data"]["object"]
    assert (shown["available"], shown["reserved"], shown["reserved_breakdown"]["withdrawals"]) == ("3.80", "1.20", "1.20")
