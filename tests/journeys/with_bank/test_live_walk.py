"""From sign-up to the money at the bank in live mode, by pages alone: once with the keyboard, once without scripts."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from lxml import etree
from playwright.async_api import Browser, expect

from tests.accounts.merchants.authenticator import Authenticator
from tests.browser import IN_A_BROWSER, WIDE, visitor
from tests.cast import PASSWORD, Actor, Application, application
from tests.invariants import broken_invariants
from tests.journeys.with_bank.hands import Hands, Keys, Pointer
from tests.pages.console.operator_pages import invite
from tests.rails.bank.camt import CUSTOMER_IBAN, paid
from tests.rails.bank.steps import Bank
from tests.rails.bank.test_payouts import XSD
from tests.receiver import Receiver
from tests.running import Service
from tollhouse.http.texts import Texts

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@asynccontextmanager
async def hands(browser: Browser, origins: list[str], kind: type[Hands], language: str, who: str) -> AsyncIterator[Hands]:
    """A window of its own for this person."""
    async with visitor(browser, WIDE, *origins, scripts=kind is Keys) as someone:
        yield kind(someone, Texts(language), f"walk-{language}-{who}")


@pytest.mark.parametrize(("kind", "language"), [(Keys, "en"), (Pointer, "de")], ids=["keyboard-en", "no-scripts-de"])
async def test_from_sign_up_to_the_payout_file(
    browser: Browser,
    service: Service,
    bank: Bank,
    bob: Actor,
    receiver: Receiver,
    tmp_path: Path,
    kind: type[Hands],
    language: str,
) -> None:
    app = await application(bob, redirect_uris=[receiver.url.replace("/hook", "/callback")])
    origins = [service.url, app.redirect_uri]
    async with (
        hands(browser, origins, kind, language, "merchant") as merchant,
        hands(browser, origins, kind, language, "payer") as payer,
        hands(browser, origins, kind, language, "operator") as operator,
    ):
        await sign_up(merchant, service)
        await become_operator(operator, service)
        await submit_project(merchant)
        await approve_project(operator)
        code = await connect(merchant, app)
        url = await create_link(merchant)
        reference = await pay(payer, url)
        await import_statement(operator, bank, reference)
        await see_receipt(payer)
        await refund_a_part(merchant)
        await withdraw(merchant)
        await approve_withdrawal(operator)
        file = await export_payouts(operator, tmp_path)
    tokens = (await app.exchange(code)).ok().body
    assert tokens["scope"] == "payments:read"
    XSD.assertValid(etree.fromstring(file))
    assert await broken_invariants(service.dsn) == []


async def sign_up(merchant: Hands, service: Service) -> None:
    """At the door of live mode."""
    await merchant.open(f"{service.url}/live/home")
    await merchant.read_german()
    await merchant.see("signin")
    await merchant.press(merchant.link("Create an account"))
    await merchant.arrive("**/signup*")
    await merchant.type("#business_name", "Bernds Spieleladen")
    await merchant.type("#email", f"bernd-{uuid4().hex[:8]}@spieleladen.example")
    await merchant.type("#password", PASSWORD)
    await merchant.press("main form button.primary")
    await merchant.arrive("**/live/home")


async def become_operator(operator: Hands, service: Service) -> None:
    """By an invitation, with a second factor."""
    await operator.open(service.url + await invite(service, f"olga-{uuid4().hex[:8]}@house.example"))
    await operator.read_german()
    await operator.see("welcome")
    await operator.type("#password", PASSWORD)
    await operator.press("main form button.primary")
    await operator.press(operator.link("Set up two-factor authentication"))
    await operator.press(operator.link("Set up two-factor authentication"))
    await operator.see("second-factor")
    page = operator.someone.page
    authenticator = Authenticator((await page.input_value("#key")).replace(" ", ""), [])
    await operator.type("#code", authenticator.code())
    await operator.press("main form button.primary")
    await operator.see("recovery-codes")


async def submit_project(merchant: Hands) -> None:
    """What the page of live mode asks for."""
    await merchant.press(merchant.link("Create project"))
    await merchant.arrive("**/live/projects/new")
    await merchant.type("#name", "Spieleladen")
    await merchant.type("#website_url", "https://spieleladen.example")
    await merchant.press("main form button.primary")
    await merchant.see("project-in-review")


async def approve_project(operator: Hands) -> None:
    """The newest project is approved."""
    await operator.go_to("Projects")
    await operator.arrive("**/operator/projects")
    await operator.press("tbody a.hit")
    await operator.see("project")
    await operator.press(operator.link("Approve project"))
    await operator.see("project-approved")


async def connect(merchant: Hands, app: Application) -> str:
    """An application asks for two permissions and gets one; the code."""
    page, service_page = merchant.someone.page, merchant.someone.page.url
    await merchant.open(app.owner.service.url + app.authorize_path("payments:read payments:write", mode="live"))
    await merchant.see("consent")
    await merchant.tick("input[value='payments:read']")
    await merchant.press("main form button:has-text('{}')".format(merchant.say("Allow selected")))
    assert page.url.startswith(app.redirect_uri)
    code = parse_qs(urlsplit(page.url).query)["code"][0]
    await merchant.open(service_page)
    return code


async def create_link(merchant: Hands) -> str:
    """A payment link of €64.90; its address."""
    await merchant.go_to("Payment links")
    await merchant.press(merchant.link("Create payment link"))
    await merchant.arrive("**/live/payment-links/new")
    await merchant.type("#display_name", "Season pass")
    await merchant.type("#amount", merchant.texts.formats.plain_amount("64.90"))
    await merchant.press("main form button.primary")
    await merchant.arrive("**/live/payment-links/*-*")
    return await merchant.someone.page.locator("main a[href*='/pay/']").first.get_attribute("href") or ""


async def pay(payer: Hands, url: str) -> str:
    """By bank transfer; the reference."""
    await payer.open(url)
    await payer.read_german()
    await payer.see("checkout")
    await payer.press("main form button.primary")
    await payer.see("bank-transfer")
    return await payer.someone.page.get_attribute("#reference", "data-copy-value") or ""


async def import_statement(operator: Hands, bank: Bank, reference: str) -> None:
    """The transfer is on the statement."""
    await operator.go_to("Statements")
    await operator.arrive("**/operator/statements")
    await operator.upload("#file", "november.xml", await bank.statement(paid(reference, 6_490), name=uuid4().hex))
    await operator.press("main form button.primary")
    await operator.see("statement-imported")
    await expect(operator.someone.page.locator("[role=status].ok")).to_be_visible()


async def see_receipt(payer: Hands) -> None:
    """The page of the payer shows it after a reload."""
    await payer.someone.page.reload()
    await payer.see("receipt")
    await expect(payer.someone.page.locator("h1")).to_have_text(payer.say("Payment received"))
    await expect(payer.someone.page.locator("#receipt + .meta")).to_have_text(re.compile(r"\d{4}-\d{6}"))


async def refund_a_part(merchant: Hands) -> None:
    """Four euros go back."""
    await merchant.go_to("Payments")
    await merchant.arrive("**/live/payments")
    await merchant.press("tbody a.hit")
    await merchant.see("payment")
    await merchant.press("main a[href$='/refund']")
    await merchant.see("refund")
    await merchant.type("#amount", merchant.texts.formats.plain_amount("4.00"))
    await merchant.press("main form button.primary")
    await merchant.see("refund-review")
    await merchant.press("main form button.primary")
    await merchant.see("refunded")


async def withdraw(merchant: Hands) -> None:
    """Fifty euros to the account of the business."""
    await merchant.go_to("Withdrawals")
    await merchant.press(merchant.link("Create withdrawal"))
    await merchant.arrive("**/live/withdrawals/new")
    await merchant.press("main a[href$='sepa:EUR']")
    await merchant.see("withdrawal")
    await merchant.type("#amount", "50")
    await merchant.type("#receiver", CUSTOMER_IBAN)
    await merchant.type("[id='provider_fields.account_holder_name']", "Bernd Beispiel")
    await merchant.press(merchant.link("Review withdrawal"))
    await merchant.see("withdrawal-review")
    await merchant.press("main form button.primary")
    await merchant.arrive("**/live/withdrawals/*-*")


async def approve_withdrawal(operator: Hands) -> None:
    """The operator reads what is sent where, and approves it."""
    await operator.go_to("Withdrawals")
    await operator.arrive("**/operator/withdrawals")
    await operator.press("tbody a.hit")
    await operator.see("withdrawal")
    await operator.press(operator.link("Approve withdrawal"))
    await operator.see("withdrawal-approved")


async def export_payouts(operator: Hands, folder: Path) -> bytes:
    """The withdrawal and the refund, as a file for the bank."""
    page = operator.someone.page
    await operator.go_to("Payouts")
    await operator.refresh_until(page.locator("tbody tr:nth-child(2)"))
    await operator.see("payouts")
    await operator.press(operator.link("Export selected payouts"))
    await operator.arrive("**/operator/batches/*")
    async with page.expect_download() as started:
        await page.locator("a[download]").first.click()
    await (await started.value).save_as(folder / "payouts.xml")
    return (folder / "payouts.xml").read_bytes()
