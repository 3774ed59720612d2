"""Applications propose, and the merchant decides by clicking in headless Chromium: money moves once, and only then."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import Actor
from tests.payments.bank import purse, sell
from tests.payments.proposals.desk import Desk, open_desk
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@pytest.fixture
async def desk(alice: Actor, bob: Actor) -> Desk:
    """Bob's application at Alice's, who has 1,000 euros."""
    return await open_desk(alice, bob, "1000.00")


@by_look(NARROW)
async def test_deciding_by_clicking(look: Look, browser: Browser, service: Service, desk: Desk) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(desk.merchant)
        await someone.open_part("Proposals")
        await expect(page.locator("main")).to_contain_text("No proposals in test mode yet")
        await someone.see("proposals-empty")
        sold = await sell(desk.merchant)
        proposed = await desk.propose(description="Rent for May", provider_fields={"reference": "May"}, external_id="r-5")
        await desk.propose("refunds", {"transaction_id": sold["id"]})
        await desk.propose("balance_payments", description="Stall 7", capture=False)
        await desk.propose("conversions", min_to_amount="1.00")
        await desk.propose("fulfillments")
        too_much = await desk.propose("conversions", amount="900.00", min_to_amount="99999.00")
        await page.reload()
        await someone.open_part("Proposals")
        await someone.see("proposals-waiting")
        for words in ("Balance payment of €10.00", "Conversion of €10.00", "Fulfillment for", "Refund of everything"):
            await page.click(f"a:has-text('{words}')")
            await expect(page.locator("main")).to_contain_text("What happens when you approve")
            await someone.glance(f"proposal-{words.partition(' ')[0].lower()}")
            await page.click(".crumbs a >> nth=0")
        await page.click("a:has-text('Withdrawal of €10.00')")
        await someone.see("proposal-withdrawal")
        assert (await purse(desk.merchant))[1] == 0
        await someone.click("Approve proposal")
        await expect(page.locator("main")).to_contain_text("It was approved and carried out.")
        await someone.see("proposal-approved")
        await page.click("text=View result")
        await expect(page.locator("main")).to_contain_text("Nina Nowak")
        await page.goto(f"{service.url}/test/proposals/{too_much['id']}")
        await someone.click("Approve proposal")
        await expect(page.locator("main")).to_contain_text("could not be carried out")
        await someone.see("proposal-failed")
        await someone.open_part("Proposals")
        await page.click("a:has-text('Balance payment of €10.00')")
        await someone.click("Reject proposal")
        await expect(page.locator("main")).to_contain_text("It was rejected. Nothing was changed.")
        await someone.open_part("Proposals")
        await someone.see("proposals-decided")
    [row] = await desk.merchant.sql(
        "SELECT count(*) AS n FROM withdrawals WHERE merchant_id = $1::uuid", desk.merchant.merchant_id
    )
    assert row["n"] == 1
    assert (await desk.read(proposed))["status"] == "approved"


@by_look(Look("light", 390))
async def test_deciding_in_german(look: Look, browser: Browser, service: Service, desk: Desk) -> None:
    proposed = await desk.propose(description="Miete für Mai")
    async with visitor(browser, look, service.url, scripts=False) as someone:
        page = someone.page
        await someone.sign_in(desk.merchant)
        await someone.click("Deutsch")
        await page.goto(f"{service.url}/test/proposals")
        await someone.glance("german-proposals")
        await page.goto(f"{service.url}/test/proposals/{proposed['id']}")
        await someone.glance("german-proposal")
        await someone.click("Vorschlag genehmigen")
        await expect(page.locator("main")).to_contain_text("Er wurde genehmigt und ausgeführt.")
        await someone.glance("german-proposal-approved")
    assert (await desk.read(proposed))["status"] == "approved"
