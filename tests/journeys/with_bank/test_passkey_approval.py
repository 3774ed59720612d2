"""An operator with a passkey approves a withdrawal of live money, and confirms that by the passkey."""

from uuid import UUID

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor, sign_up
from tests.journeys.test_passkey_pages import authenticator_of, local
from tests.journeys.with_bank.test_live_bank import WITHDRAWAL
from tests.pages.console.operator_pages import invite
from tests.running import CATALOGUE, Service
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import actions

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
AGED = """
    UPDATE operator_sessions
    SET created_at = created_at - interval '15 minutes', proved_at = proved_at - interval '15 minutes'
"""


async def make_rich(service: Service, actor: Actor) -> None:
    """100 EUR in live mode."""
    services = service.create_services(connections=1)
    try:
        env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live")
        context = OperatorContext("olga", clock.now(), "Opening balance")
        euros = CATALOGUE.currencies["EUR"]
        await services.transact(lambda work: actions.adjust(work, env, euros, 10_000, context), context.at)
    finally:
        await services.db.close()


@by_look(WIDE)
async def test_a_withdrawal_is_approved_by_passkey(look: Look, browser: Browser, service: Service) -> None:
    url = local(service)
    async with sign_up(service, "alice", "Alice's Coffee") as alice, visitor(browser, look, url) as someone:
        await make_rich(service, alice)
        waits = (await alice.post("/withdrawals", WITHDRAWAL, key=alice.merchant_id, mode="live")).ok(201).body["id"]
        page = someone.page
        authenticator = await authenticator_of(page)
        await add_passkey(someone, url + await invite(service, f"olga-{alice.merchant_id[-12:]}@house.example"))
        await page.goto(f"{url}/operator/withdrawals/{waits}")
        await someone.see("passkey-withdrawal")
        await service.sql(AGED)
        await authenticator.call("setAutomaticPresenceSimulation", enabled=False)
        await someone.click("Approve")
        await expect(page.get_by_role("button", name="Use a passkey")).to_be_visible()
        await someone.see("passkey-withdrawal-confirm")
        assert await status(alice, waits) == "pending_review"
        await authenticator.call("setAutomaticPresenceSimulation", enabled=True)
        await someone.press("button:has-text('Use a passkey')")
        await page.wait_for_url(f"{url}/operator/withdrawals/{waits}?action=*")
        await expect(page.locator("main")).to_contain_text("Done: withdrawal approved")
        await someone.see("passkey-withdrawal-approved")
        assert await status(alice, waits) != "pending_review"


async def add_passkey(someone: Visitor, link: str) -> None:
    """The operator comes in and adds a passkey, which is the second factor that live use asks for."""
    page = someone.page
    await page.goto(link)
    await page.fill("#password", PASSWORD)
    await someone.click("Save password")
    await page.goto(link.partition("/operator/")[0] + "/operator/security/passkeys/new")
    await page.get_by_role("button", name="Create passkey").click()
    await page.wait_for_selector("li code")


async def status(alice: Actor, withdrawal_id: str) -> str:
    """How it stands."""
    return str((await alice.get(f"/withdrawals/{withdrawal_id}", mode="live")).ok().body["status"])
