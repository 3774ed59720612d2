"""Positions of the platform in currencies: they follow live conversions, and limits refuse what would exceed them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import Service, settings_for
from tests.transfers.conversions.steps import convert
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import actions
from tollhouse.transfers.conversions import prices, prices_store
from tollhouse.transfers.conversions.model import CurrencyPosition
from tollhouse.transfers.conversions.rules import apply_rules

TEN_EUROS = {"from_currency": "EUR", "to_currency": "USD", "amount": "10.00"}
TEN_BACK = {"from_currency": "USD", "to_currency": "EUR", "amount": "10.00"}
REFUSED = {"unavailable_reason": "position_limit"}


@pytest.fixture(scope="module")
def exchange(server: embedded.Server) -> Iterator[Service]:
    """A service of their own: prices cannot be deleted."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def rich(shop: Actor, services: Services) -> AsyncIterator[Actor]:
    """A merchant with live money in two currencies, at a price of 1. There are no limits, before and after."""
    for currency in ("EUR", "USD"):
        await adjust(services, shop, currency, 100_000)
    await services.db.transact(lambda tx: prices.post(tx, {"USD": "1"}, "olga", clock.now()))
    yield shop
    for currency in ("EUR", "USD"):
        await services.db.transact(lambda tx, code=currency: prices_store.set_position_limit(tx, code, None))


async def adjust(services: Services, actor: Actor, currency: str, amount_minor: int) -> None:
    """An operator credits a merchant in live mode."""
    env, context = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live"), OperatorContext("olga", clock.now(), "A gift")
    known = services.catalogue.currencies[currency]
    await services.transact(lambda work: actions.adjust(work, env, known, amount_minor, context), context.at)


async def position(services: Services, currency: str) -> int:
    """The position in a currency."""
    return (await prices_store.list_positions(services.db)).get(currency, CurrencyPosition()).position_minor


async def limit(services: Services, currency: str, more_minor: int) -> None:
    """Let the position of a currency become larger by so much."""
    limit_minor = abs(await position(services, currency)) + more_minor
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, currency, limit_minor))


@pytest.mark.parametrize(
    ("held", "bound", "change", "refused"),
    [
        *((0, None, 10**15, False), (0, 10, 10, False), (0, 10, 11, True), (0, 10, -11, True), (5, 10, -15, False)),
        *((5, 10, -16, True), (20, 10, 1, True), (20, 10, -1, False), (-20, 10, 1, False), (-20, 10, -1, True)),
        *((20, 10, -40, False), (20, 10, -41, True)),
    ],
)
def test_a_limit_refuses_what_exceeds_it_further(held: int, bound: int | None, change: int, *, refused: bool) -> None:
    assert CurrencyPosition(held, bound).refuses(change) is refused


async def test_a_position_follows_live_conversions(rich: Actor, services: Services) -> None:
    before = await position(services, "EUR"), await position(services, "USD")
    (await convert(rich, TEN_EUROS, mode="live")).ok(201)
    assert (await position(services, "EUR"), await position(services, "USD")) == (before[0] + 1_000, before[1] - 1_000)
    (await convert(rich, TEN_BACK, mode="live")).ok(201)
    assert (await position(services, "EUR"), await position(services, "USD")) == before


@pytest.mark.parametrize("currency", ["EUR", "USD"])
async def test_a_limit_refuses_more_but_not_the_way_back(rich: Actor, services: Services, currency: str) -> None:
    (await convert(rich, TEN_EUROS, mode="live")).ok(201)
    await limit(services, currency, 500)
    quoted = (await rich.post("/conversion-quotes", TEN_EUROS, mode="live")).refused("method_unavailable", 422)
    assert quoted.body["details"] == REFUSED
    refused = (await convert(rich, TEN_EUROS, mode="live")).refused("method_unavailable", 422)
    assert refused.body["details"] == REFUSED
    (await convert(rich, TEN_EUROS | {"amount": "5.00"}, mode="live")).ok(201)
    live = (await rich.get("/conversion-pairs", mode="live")).ok().body["conversion_pairs"]
    reasons = {(one["from_currency"], one["to_currency"]): one["unavailable_reason"] for one in live}
    assert (reasons["EUR", "USD"], reasons["USD", "EUR"]) == ("position_limit", None)
    (await convert(rich, TEN_BACK, mode="live")).ok(201)
    (await convert(rich, TEN_BACK | {"amount": "5.00"}, mode="live")).ok(201)


async def test_conversions_at_once_do_not_pass_a_limit_together(rich: Actor, services: Services) -> None:
    await limit(services, "USD", 2_000)
    before = await position(services, "USD")
    made = await asyncio.gather(*(convert(rich, TEN_EUROS, mode="live") for _ in range(6)))
    assert sorted(response.status for response in made) == [201, 201, 422, 422, 422, 422]
    assert abs(await position(services, "USD") - before) == 2_000


async def test_a_quote_of_before_is_refused(rich: Actor, services: Services) -> None:
    quoted = (await rich.post("/conversion-quotes", TEN_EUROS, mode="live")).ok(201).body
    await limit(services, "USD", 999)
    refused = (await convert(rich, {"quote_id": quoted["id"]}, mode="live")).refused("method_unavailable", 422)
    assert refused.body["details"] == REFUSED
    await limit(services, "USD", 1_000)
    (await convert(rich, {"quote_id": quoted["id"]}, mode="live")).ok(201)


async def test_a_rule_waits_for_the_position(rich: Actor, services: Services) -> None:
    await limit(services, "USD", 500)
    rule = {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_threshold", "threshold": "5.00"}
    (await rich.post("/conversion-rules", rule, mode="live")).ok(201)
    await adjust(services, rich, "EUR", 1)
    await apply_rules(services)
    assert (await rich.get("/conversions", mode="live")).ok().body["conversions"] == []
    [waiting] = await rich.sql("SELECT retry_at FROM conversion_rules WHERE merchant_id = $1::uuid", rich.merchant_id)
    assert waiting["retry_at"] is not None


async def test_a_limit_is_set_by_command(rich: Actor, services: Services) -> None:
    """By the same function as on the page, so that both are in the history."""
    limit = ("positions", "limit", "USD")
    done = await operator(rich.service, *limit, "1000.50", "--reason", "Hedged by command", "--json")
    assert (done.status, done.json["action"], done.json["amount_minor"]) == (0, "position_limit_changed", 100_050)
    listed = (await operator(rich.service, "positions", "list", "--json")).json["positions"]
    assert [row["limit_minor"] for row in listed if row["currency"] == "USD"] == [100_050]
    assert (await operator(rich.service, *limit, "none", "--reason", "No more")).status == 0
    assert (await prices_store.list_positions(services.db))["USD"].limit_minor is None
    history = await rich.sql(
        "SELECT operator, reason, on_command_line FROM operator_actions WHERE reason = 'Hedged by command'"
    )
    assert [tuple(row) for row in history] == [("local administrator", "Hedged by command", True)]
    for words, status in (
        ((*limit, "0", "--reason", "Wrong"), 1),
        ((*limit, "1.005", "--reason", "Wrong"), 1),
        (("positions", "limit", "XXX", "1", "--reason", "Wrong"), 2),
        ((*limit, "1"), 2),
    ):
        assert (await operator(rich.service, *words)).status == status
    assert (await prices_store.list_positions(services.db))["USD"].limit_minor is None


async def test_an_operator_sets_and_removes_a_limit(rich: Actor, services: Services) -> None:
    async with signed_in_operator(rich.service) as olga:
        path, form = "/operator/books/positions", {"currency": "USD", "limit": "1000.50", "reason": "Hedged up to here"}
        (await convert(rich, TEN_EUROS, mode="live")).ok(201)
        shown = (await olga.send("GET", path)).ok().text
        assert "Position" in shown
        done = (await olga.form(f"{path}/limit", form)).ok(303)
        shown = (await olga.send("GET", done.location)).ok().text
        assert "Done: position limit changed" in shown
        assert "$1,000.50" in shown
        assert (await prices_store.list_positions(services.db))["USD"].limit_minor == 100_050
        (await olga.form(f"{path}/limit", form | {"limit": ""})).ok(303)
        assert (await prices_store.list_positions(services.db))["USD"].limit_minor is None
        history = (await olga.send("GET", "/operator/history")).ok().text
        assert "Hedged up to here" in history
        assert "Position in USD" in history
        for wrong in ({"currency": "XXX"}, {"limit": "0"}, {"limit": "1.005"}, {"limit": "-1"}, {"reason": ""}):
            assert "No changes were made." in (await olga.form(f"{path}/limit", form | wrong)).ok(422).text
