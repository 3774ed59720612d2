"""Checkout pages of money that does not fit: a part that was seen, too much, too late, and a part when the link ended."""

from uuid import UUID

from playwright.async_api import Browser, expect

from tests.browser import NARROW, Look, by_look, visitor
from tests.cast import Actor
from tests.payments.shop import choose, open_link, simulate
from tests.payments.test_other_currencies import accept_currencies
from tests.running import Service

END = "UPDATE payment_links SET created_at = now() - interval '3 d', expires_at = now() - interval '1 ms' WHERE id = $1"


@by_look(NARROW)
async def test_money_that_does_not_fit(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    await accept_currencies(alice, "ETH")
    part, ended, over, late = [await open_link(alice, amount="12.50", description="Concert ticket") for _ in range(4)]
    for link in (part, ended, over, late):
        (await choose(link, "sandbox:ETH" if link is part else None)).ok(303)
    (await simulate(part, "processing", amount="0.001")).ok(303)
    (await simulate(ended, "underpay", amount="3.00")).ok(303)
    await alice.sql(END, UUID(ended["id"]))
    (await simulate(over, "overpay", amount="15.00")).ok(303)
    (await simulate(late, "late")).ok(303)
    shown = {
        "underpaid": (part, "missing."),
        "expired-with-part": (ended, "€3.00"),
        "overpaid": (over, "more than requested"),
        "late": (late, "before the link expired"),
    }
    async with visitor(browser, look, service.url) as someone:
        for name, (link, words) in shown.items():
            await someone.page.goto(link["url"])
            await expect(someone.page.locator("main")).to_contain_text(words)
            await someone.see(f"checkout-{name}")
