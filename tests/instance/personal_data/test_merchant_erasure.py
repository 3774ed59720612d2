"""A merchant is erased when nothing is left to do: once, completely, for good; its books stay."""

import asyncio
from uuid import UUID

import asyncpg
import pytest

from tests.cast import PASSWORD, Actor
from tests.command import tollhouse
from tests.instance.personal_data.test_export import someone
from tests.payments.bank import sell
from tests.payments.shop import open_link, visit
from tests.running import CATALOGUE, Service
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError, SubjectNotFoundError
from tollhouse.http.services import Services
from tollhouse.instance.personal_data import merchants
from tollhouse.instance.personal_data.merchants import erase_merchant
from tollhouse.instance.personal_data.model import MerchantErasure
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.pages.console import actions

ROWS = """
    SELECT (SELECT count(*) FROM users WHERE merchant_id = $1::uuid) AS users,
           (SELECT count(*) FROM payment_links WHERE merchant_id = $1::uuid AND customer_email IS NOT NULL) AS customers,
           (SELECT count(*) FROM ledger_entries WHERE merchant_id = $1::uuid) AS entries,
           (SELECT count(*) FROM api_keys WHERE merchant_id = $1::uuid AND revoked_at IS NULL) AS keys,
           (SELECT business_name FROM merchants WHERE id = $1::uuid) AS name,
           (SELECT string_agg(DISTINCT name, '') FROM projects WHERE merchant_id = $1::uuid) AS projects
"""

REOPEN = "UPDATE merchants SET {} WHERE id = $1::uuid"


def context(reason: str | None = "Account closed") -> OperatorContext:
    """An operator who closes an account."""
    return OperatorContext("olga", clock.now(), reason)


def merchant_of(actor: Actor) -> MerchantId:
    """The merchant."""
    return MerchantId(UUID(actor.merchant_id))


async def suspend(services: Services, actor: Actor) -> None:
    """What comes before the erasure."""
    await services.transact(lambda work: actions.suspend(work, merchant_of(actor), context()), clock.now(), OPERATOR)


async def adjust(services: Services, actor: Actor, amount_minor: int) -> None:
    """Change the live balance."""
    env = MerchantEnv(merchant_of(actor), "live")
    await services.transact(
        lambda work: actions.adjust(work, env, CATALOGUE.currencies["EUR"], amount_minor, context()), clock.now(), OPERATOR
    )


async def test_a_merchant_is_erased_once_and_for_good(
    alice: Actor, bob: Actor, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merchants, "LINKS_AT_ONCE", 1)
    merchant_id, customer = UUID(alice.merchant_id), someone("anna")
    for _ in range(2):
        await sell(alice, customer_email=customer)
    link = await open_link(alice)
    kept = await open_link(bob, customer_email=customer)
    [before] = await alice.sql(ROWS, alice.merchant_id)
    await suspend(services, alice)
    results = await asyncio.gather(*(erase_merchant(services, merchant_id, context()) for _ in range(2)))
    assert [action.action for action, _ in results if action is not None] == ["merchant_erased"]
    assert sum(erasure.links_cleared for _, erasure in results) == 2
    [deleted] = [erasure.deleted for action, erasure in results if action is not None]
    assert (deleted["users"], deleted["sessions"]) == (1, 1)
    [after] = await alice.sql(ROWS, alice.merchant_id)
    assert tuple(after) == (0, 0, before["entries"], 0, "Erased merchant", "Erased")
    assert (await bob.get(f"/payment-links/{kept['id']}")).ok().body["customer_email"] == customer
    assert (await alice.get("/balances")).status == 401
    assert (await alice.dashboard("GET", "/session")).status == 401
    signing_in = {"email": alice.email, "password": PASSWORD}
    assert (await alice.dashboard("POST", "/session", signing_in)).status in {401, 404, 405}
    assert f"{link['url']}/method" not in (await visit(link, alice)).text
    with pytest.raises(OperatorRefusedError, match="erased"):
        await services.transact(lambda work: actions.reactivate(work, merchant_of(alice), context()), clock.now(), OPERATOR)
    for change in ("suspended_at = NULL", "closed_at = NULL, suspended_at = now()"):
        with pytest.raises(asyncpg.PostgresError):
            await alice.sql(REOPEN.format(change), alice.merchant_id)


async def test_an_erasure_that_was_killed_goes_on(alice: Actor, services: Services) -> None:
    await sell(alice, customer_email=someone("anna"))
    await suspend(services, alice)
    await services.transact(
        lambda work: merchants.close_merchant(work, merchant_of(alice), context()), clock.now(), OPERATOR
    )
    assert (await alice.sql(ROWS, alice.merchant_id))[0]["customers"] == 1
    assert await erase_merchant(services, UUID(alice.merchant_id), context()) == (None, MerchantErasure({}, 1))
    assert (await alice.sql(ROWS, alice.merchant_id))[0]["customers"] == 0


async def test_what_must_end_first(alice: Actor, services: Services) -> None:
    merchant_id = UUID(alice.merchant_id)
    with pytest.raises(SubjectNotFoundError):
        await erase_merchant(services, new_id(), context())
    with pytest.raises(OperatorRefusedError, match="Suspend"):
        await erase_merchant(services, merchant_id, context())
    await adjust(services, alice, 500)
    await suspend(services, alice)
    with pytest.raises(OperatorRefusedError, match="balances that are not zero: 1"):
        await erase_merchant(services, merchant_id, context())
    with pytest.raises(OperatorRefusedError, match="reason"):
        await erase_merchant(services, merchant_id, context(None))
    await adjust(services, alice, -500)
    action, _ = await erase_merchant(services, merchant_id, context())
    assert action is not None


async def test_the_command_wants_a_confirmation(alice: Actor, service: Service, services: Services) -> None:
    words = ("merchant", "erase", alice.merchant_id, "--reason", "Account closed")
    assert (await tollhouse(service, *words)).status == 2
    early = await tollhouse(service, *words, "--dry-run")
    assert (early.status, early.out) == (1, "")
    await suspend(services, alice)
    assert (await tollhouse(service, *words, "--dry-run")).out == "The merchant can be erased.\n"
    done = await tollhouse(service, *words, "--yes", "--json")
    assert done.json["deleted"]["users"] == 1
