"""Live money by clicking in headless Chromium: paid in by a bank's statement, withdrawn by a file for the bank."""

import asyncio
import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from lxml import etree
from playwright.async_api import Browser, expect

from tests.accounts.merchants.authenticator import Authenticator
from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor, sign_up
from tests.invariants import broken_invariants
from tests.pages.console.operator_pages import invite
from tests.payments.bank import until
from tests.payments.shop import approve_project
from tests.rails.bank.camt import ACCOUNT, CUSTOMER_IBAN, Line, paid
from tests.rails.bank.steps import Bank
from tests.rails.bank.test_payouts import XSD
from tests.running import Service

LINK = {"display_name": "Coffee for a year", "amount": "120.00", "currency": "EUR"}
WITHDRAWAL = {
    "method_id": "sepa:EUR",
    "amount": "50.00",
    "receiver": CUSTOMER_IBAN,
    "provider_fields": {"account_holder_name": "Alice Arabica", "reference": "Beans"},
}

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
BALANCES = re.compile(rb"<Bal>.*?</Bal>", re.DOTALL)


@pytest.mark.covers("P-165")
@by_look(WIDE)
async def test_live_money_in_and_out_by_clicking(
    look: Look, browser: Browser, service: Service, bank: Bank, tmp_path: Path
) -> None:
    async with sign_up(service, "alice", "Alice's Coffee") as alice, visitor(browser, look, service.url) as someone:
        await approve_project(alice, "live")
        link = (await alice.post("/payment-links", LINK, mode="live")).ok(201).body
        reference = await read_where_to_pay(someone, link)
        await become_operator(someone, service)
        credit = await bank.statement(paid(reference, 12_000), Line(90, words="Interest", name=None), name=f"one-{look}")
        await bring(someone, credit, "New entries: 2.", "bank-statement-in")
        await see_the_statement(someone, f"one-{look}")
        await dismiss_the_interest(someone)
        assert "€120.00" in await balance_page(someone, alice)

        withdrawal = (await alice.post("/withdrawals", WITHDRAWAL, key=str(uuid4()), mode="live")).ok(201).body
        assert withdrawal["status"] == "pending_review"
        await approve(someone, withdrawal["id"])
        await handed_to_the_rail(alice, withdrawal["id"])
        file = await take_a_batch_to_the_bank(someone, tmp_path)
        XSD.assertValid(etree.fromstring(file))
        assert file.count(b"<EndToEndId>") == 1
        assert UUID(withdrawal["id"]).hex.encode() in file

        line = Line(5_000, "DBIT", end_to_end=UUID(withdrawal["id"]).hex, name=None)
        debit = await bank.statement(line, name=f"two-{look}")
        await bring(someone, debit, "Matched transfers: 1.", "bank-statement-out")
        assert (await show(alice, withdrawal["id"]))["status"] == "completed"
        await see_it_confirmed(someone, withdrawal["id"])

        before = await standing(alice)
        for raw in (credit, debit):
            await bring(someone, raw, "This statement was already imported. Nothing was changed.")
        assert await standing(alice) == before == ("70.00", "0.00", "completed")
        await bring_without_balances(someone, bank)
    assert await broken_invariants(service.dsn) == []


async def read_where_to_pay(someone: Visitor, link: dict[str, Any]) -> str:
    """A customer chooses the bank: the reference to pay with."""
    page = someone.page
    await page.goto(link["url"])
    await page.check("input[value='sepa:EUR']")
    await someone.click("Continue")
    await someone.see("bank-checkout")
    iban = ACCOUNT["TOLLHOUSE_BANK_IBAN"]
    await expect(page.locator("#address")).to_have_text(" ".join(iban[at : at + 4] for at in range(0, len(iban), 4)))
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.click("#address + button")
    await page.wait_for_selector("#address + button:has-text('Copied')")
    assert await page.evaluate("navigator.clipboard.readText()") == iban
    await page.click("#reference")  # selects all of it
    await page.keyboard.press("Control+C")
    reference = await page.get_attribute("#reference", "data-copy-value")
    assert await page.evaluate("navigator.clipboard.readText()") == reference
    assert reference
    return reference


async def become_operator(someone: Visitor, service: Service) -> None:
    """The operator comes in, and sets up the second factor that live use asks for."""
    page = someone.page
    await someone.page.goto(service.url + await invite(service, f"olga-{uuid4().hex[:8]}@house.example"))
    await someone.page.fill("#password", PASSWORD)
    await someone.click("Save password")
    await someone.see("operator-second-factor-needed")
    await page.click("a:has-text('Set up two-factor authentication')")
    await someone.click("Set up two-factor authentication")
    authenticator = Authenticator((await page.input_value("#key")).replace(" ", ""), [])
    await page.fill("#code", authenticator.code())
    await page.press("#code", "Enter")
    await page.wait_for_selector("li code")
    await someone.open_part("Overview")


async def bring(someone: Visitor, raw: bytes, says: str, name: str = "") -> None:
    """She imports a file; a wrong one before, the first time."""
    page = someone.page
    await someone.open_part("Statements")
    if name == "bank-statement-in":
        await someone.see("bank-statements-none")
        await page.set_input_files("#file", {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": b"\xff\xd8"})
        await someone.click("Import")
        await page.wait_for_selector("#file-wrong")
        await someone.see("bank-statement-wrong")
    await page.set_input_files("#file", {"name": "day.xml", "mimeType": "text/xml", "buffer": raw})
    await someone.click("Import")
    await expect(page.locator("[role=status].ok")).to_contain_text(says)
    if name:
        await someone.see(name)


async def bring_without_balances(someone: Visitor, bank: Bank) -> None:
    """A file that nothing proves waits for a second operator."""
    page = someone.page
    raw = BALANCES.sub(b"", await bank.statement(Line(700, words="Whose?")))
    await someone.open_part("Statements")
    await page.set_input_files("#file", {"name": "day.xml", "mimeType": "text/xml", "buffer": raw})
    await someone.click("Import")
    await page.wait_for_url("**/operator/imports/*")
    await expect(page.locator("main")).to_contain_text("You confirmed this file. A second operator must confirm it too.")
    await someone.see("bank-import-unconfirmed")
    await bank.confirm(UUID(page.url.rpartition("/")[2]), "otto@house.example")
    await page.reload()
    await expect(page.locator("main")).not_to_contain_text("Nothing of it has been booked.")


async def see_the_statement(someone: Visitor, name: str) -> None:
    """What each transfer of it did."""
    await someone.page.click(f"table a:has-text('{name}')")
    await someone.page.wait_for_url("**/operator/statements/*")
    await someone.see("bank-statement")
    await expect(someone.page.locator("table")).to_contain_text("The transfer has no payment reference.")


async def dismiss_the_interest(someone: Visitor) -> None:
    """What nobody could place is the bank's own."""
    page = someone.page
    await someone.open_part("Bank transfers")
    await someone.see("bank-transfers")
    await page.click("table a")
    await someone.see("bank-transfer")
    assert await page.locator("main form button.primary").count() == 1
    await page.click("summary:has-text('Dismiss transfer')")
    await page.fill("#reason", "   ")
    await someone.click("Dismiss transfer")
    await page.wait_for_selector("#reason-wrong")
    await someone.see("bank-transfer-wrong")
    await page.fill("#reason", "Interest of November")
    await someone.click("Dismiss transfer")
    await page.wait_for_url("**?action=*")
    await someone.see("bank-transfer-dismissed")


async def balance_page(someone: Visitor, alice: Actor) -> str:
    """What the merchant sees at home."""
    page = someone.page
    await page.goto(f"{alice.service.url}/signin")
    await page.fill("#email", alice.email)
    await page.fill("#password", PASSWORD)
    await someone.click("Sign in")
    await page.wait_for_url("**/home")
    await page.goto(f"{alice.service.url}/live/home")
    return await page.inner_text("main")


async def approve(someone: Visitor, withdrawal_id: str) -> None:
    """By keys alone she reads what is to be sent where, and lets it go."""
    page = someone.page
    await page.goto(page.url.replace("/live/home", "/operator"))
    await someone.press_part("Withdrawals")
    await page.wait_for_url("**/operator/withdrawals")
    await someone.press(f"table a.hit[href$='{withdrawal_id}']")
    await page.wait_for_url(f"**/{withdrawal_id}")
    await someone.see("bank-review")
    await someone.press("button:has-text('Approve')")
    await page.wait_for_url("**?action=*")


async def handed_to_the_rail(alice: Actor, withdrawal_id: str) -> None:
    """The worker does its part."""
    await until(alice, f"/withdrawals/{withdrawal_id}", "processing", mode="live")
    for _ in range(600):
        [row] = await alice.sql("SELECT submission FROM withdrawals WHERE id = $1::uuid", withdrawal_id)
        if row["submission"] == "accepted":
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the worker does not hand it to the rail")


async def take_a_batch_to_the_bank(someone: Visitor, folder: Path) -> bytes:
    """She exports what waits, and has the file twice: the same bytes."""
    page = someone.page
    await someone.open_part("Payouts")
    await someone.see("bank-payouts")
    await someone.click("Export selected payouts")
    await page.wait_for_url("**/operator/batches/*")
    await someone.see("bank-batch")
    await page.click("table a >> nth=0")
    await page.wait_for_url("**/operator/payouts/*")
    await someone.see("bank-payout-exported")
    await page.click("a:has-text('this batch')")
    files: list[bytes] = []
    for nth in range(2):
        async with page.expect_download() as started:
            await page.click("a:has-text('Download file')")
        kept = folder / f"{nth}.xml"
        await (await started.value).save_as(kept)
        files.append(kept.read_bytes())
    assert files[0] == files[1]
    return files[0]


async def see_it_confirmed(someone: Visitor, payout_id: str) -> None:
    """The batch has ended."""
    page = someone.page
    await someone.open_part("Payouts")
    await someone.see("bank-payouts-none")
    await page.click("nav[aria-label='Payouts'] a:has-text('Batches')")
    await expect(page.locator("table")).to_contain_text("1 confirmed")
    await someone.see("bank-batches")
    await page.click("table a >> nth=0")
    await page.click(f"table a[href$='{payout_id}']")
    await someone.see("bank-payout")
    await expect(page.locator(".page-head")).to_contain_text("Confirmed")


async def show(alice: Actor, withdrawal_id: str) -> dict[str, Any]:
    """The withdrawal as it is now."""
    return (await alice.get(f"/withdrawals/{withdrawal_id}", mode="live")).ok().body


async def standing(alice: Actor) -> tuple[str, str, str]:
    """What is available and reserved, and how the newest withdrawal stands."""
    balance = (await alice.get("/balances/EUR", mode="live")).ok().body
    [withdrawal] = (await alice.get("/withdrawals", mode="live")).ok().body["withdrawals"]
    return balance["available"], balance["reserved"], withdrawal["status"]
