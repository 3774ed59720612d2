"""What operators see of the rails of live mode, and of payouts on networks."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest

from tests.cast import Actor, sign_up
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import Service, settings_for
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.pages.console import rail_pages
from tollhouse.rails.chains import store
from tollhouse.rails.chains import store as chains_store
from tollhouse.rails.evm import payouts_store
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.payouts_model import NewChainPayout
from tollhouse.rails.evm.settings import EvmSettings, TokenSettings

WALLET, RECEIVER = "0x52908400098527886E0F7030069857D2E4169EE7", "0x" + "ab" * 20
TOKENS = {"USDC": TokenSettings("0x" + "cd" * 20, 6)}
REFUSE = "/operator/rails/refuse"
FACTS = {
    "wallet": WALLET,
    "sweep_to": RECEIVER,
    "next_nonce": 7,
    "fee_per_gas_wei": 1_500_000_000,
    "waiting": 1,
    "balances": {"ETH": str(25 * 10**17), "USDC": "0"},
}
RELEASED = """
    INSERT INTO outgoing_transfers (id, kind, merchant_id, mode, rail, currency, amount_minor, receiver, review,
                                    approvals_needed, created_at)
    VALUES ($1, 'refund', $2::uuid, 'live', 'paying', 'ETH', 400000000, $3, 'required', 1, now())
"""
APPROVED = """
    UPDATE outgoing_transfers SET review = 'approved', approvals = '{olga}', reviewed_at = now(), released_at = now()
    WHERE id = $1
"""


@pytest.fixture(scope="module")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service with two networks and a bank account, and without a worker, which would measure them."""
    bank = {"TOLLHOUSE_BANK_IBAN": "DE89370400440532013000", "TOLLHOUSE_BANK_HOLDER": "Tollhouse GmbH"}
    running = Service(settings_for(server.cluster.dsn, fresh=True, **bank), worker=False)
    paying = EvmSettings(chain_id=1, tokens=TOKENS, signer_socket="/nowhere")
    for network in (EvmNetwork("paying", paying), EvmNetwork("taking", EvmSettings(chain_id=10))):
        running.rails.providers[network.name, "live"] = network
    with running:
        yield running


@pytest.fixture
async def own(service: Service) -> AsyncIterator[Services]:
    """The services of a worker."""
    services = service.create_services(connections=1)
    yield services
    await services.db.close()


async def shown(olga: Actor) -> str:
    """The page, with its white space as it is seen."""
    return " ".join((await olga.send("GET", "/operator/rails")).ok().text.split())


async def test_operators_see_each_rail_and_why_payouts_wait(service: Service, own: Services) -> None:
    db, now = own.db, clock.now()
    async with signed_in_operator(service) as olga:
        page = await shown(olga)
        assert page.count("Not measured yet.") == 3
        assert "DE89370400440532013000" in page
        assert "payouts are not configured" in page
        facts = {"tip": 21_000_123, "tip_age_s": 4, "final": 21_000_059, "free_addresses": 180}
        await store.save_health(db, "paying", "live", None, facts, now)
        await store.save_health(db, "taking", "live", "a deposit address was changed", {}, now)
        await chains_store.save_payout_health(db, "paying", "live", "ETH is not in the policy.", ["USDC"], FACTS, now)
        async with sign_up(service, "alice", "Alice's Coffee") as alice:
            new = NewChainPayout(
                id=new_id(), kind="refund", rail="paying", mode="live", chain_id=1, currency="ETH", contract=None,
                receiver=RECEIVER, amount_units=4 * 10**18,
            )  # fmt: skip
            await db.execute(RELEASED, new.id, alice.merchant_id, RECEIVER)
            await db.execute(APPROVED, new.id)
            await payouts_store.insert(db, new, now)
            await payouts_store.wait(db, new.id, "the wallet has too little ETH", "float", now)
        page = await shown(olga)
        (await olga.form(REFUSE, {"payout": str(new.id), "reason": ""})).ok(422)
        (await olga.form(REFUSE, {"payout": "none", "reason": "Blocked"})).ok(422)
        (await olga.form(REFUSE, {"payout": str(new_id()), "reason": "Blocked"})).ok(404)
        done = (await olga.form(REFUSE, {"payout": str(new.id), "reason": "Blocked"})).ok(303).location
        refused = " ".join((await olga.send("GET", done)).ok().text.split())
    assert "Done: payout to be refused" in refused
    assert "Will be refused" in refused
    assert "<option" not in refused
    assert [one.reason for one in await payouts_store.list_to_refuse(db, 5)] == ["Blocked"]
    for words in (
        *("21,000,123", "21,000,059", "180", WALLET, RECEIVER, "2.50 ETH", "2 gwei", "Too little"),
        "A deposit address does not belong to the extended public key.",
        'Payouts wait.</p><p class="small" lang="en">ETH is not in the policy.',
        "the wallet has too little ETH",
        "4.00 ETH",
        f"4.00 ETH, {RECEIVER}",
        f'<option value="{new.id}"',
    ):
        assert words in page, words
    [taking, paying] = [
        rail for name in ("taking", "paying") for rail in await rail_pages.list_rails(own, now) if rail.name == name
    ]
    assert (taking.is_available, paying.is_available, paying.payouts and paying.payouts.is_available) == (False, True, False)


async def test_what_no_worker_measures_any_more_is_down(own: Services) -> None:
    db, now = own.db, clock.now()
    await store.save_health(db, "paying", "live", None, {"tip": 5, "tip_age_s": 4}, now - timedelta(minutes=5))
    [paying] = [rail for rail in await rail_pages.list_rails(own, now) if rail.name == "paying"]
    assert str(paying.reason) == "No worker has measured this rail for 5 minutes. Start a worker."
    assert str(paying.block_age) == "5 minutes"
