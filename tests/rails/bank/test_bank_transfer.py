"""The bank rail passes the contract of rails, by statements; and what it shows to customers."""

from collections.abc import AsyncIterator
from typing import Any, ClassVar
from uuid import UUID

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants
from tests.payments.shop import approve_project, visit
from tests.rails.bank.camt import BIC, CUSTOMER_IBAN, HOLDER, IBAN, paid, read, statement
from tests.rails.bank.steps import ACCOUNT, Bank, offer
from tests.rails.contract import RailContract
from tests.running import CATALOGUE, KEY, Service
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance import main
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.rails.provider import Attempt, Observation
from tollhouse.pages.checkout.payment_uri import payment_uri
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Transaction
from tollhouse.platform.settings import config
from tollhouse.rails.bank.files.transfer import BankAccount, BankTransfer, bank_account, reference_of

EURO_ATTEMPT = Attempt(UUID("019a0000-0000-7000-8000-000000000000"), "sepa:EUR", "EUR", 1_050)


@pytest.fixture
async def services(service: Service, services: Services, alice: Actor) -> AsyncIterator[Services]:
    """The services of the bank, where Alice may sell for real money."""
    await approve_project(alice, "live")
    yield services
    assert await broken_invariants(service.dsn) == []


def shown(seen: Observation) -> bytes:
    """A statement that says the same."""
    currency = seen.currency or "EUR"
    return statement(
        paid(seen.reference, seen.amount_minor, bank_reference=seen.external_ref, currency=currency),
        currency=currency,
        first_page=True,
    )


def named(seen: Observation) -> str:
    """What the rail calls the transfer of this statement."""
    [entry] = read(shown(seen), {"EUR": 2})[0].entries
    return f"{entry.identity.hex()}/0"


class TestBankTransfer(RailContract):
    """In live mode, by statements."""

    provider = BankTransfer(ACCOUNT)
    receiver = CUSTOMER_IBAN
    impossible_receivers = ("", IBAN, "DE89370400440532013001", "US64SVBKUS6S3300958879")
    method_id = "sepa:EUR"
    without: ClassVar = {
        "decline": "A transfer that a bank declines is on no statement.",
        "reversal": "What a bank takes back is an entry of a statement, which tests/rails/bank imports.",
    }

    def on_its_way(self, reference: str, name: str, minor: int, confirmations: int = 0) -> Observation:
        seen = super().on_its_way(reference, name, minor, confirmations)
        return msgspec.structs.replace(seen, external_ref=named(seen), transfer_ref=name)

    async def report(self, services: Services, *seen: Observation) -> list[Transaction | None]:
        """What is confirmed is on a statement; of the rest this rail never hears, and withstands it all the same."""
        return [
            await (
                self._import(services, observation)
                if observation.outcome == "confirmed"
                else self._tell(services, observation)
            )
            for observation in seen
        ]

    async def _tell(self, services: Services, seen: Observation) -> Transaction | None:
        return (await super().report(services, seen))[0]

    async def _import(self, services: Services, seen: Observation) -> Transaction | None:
        try:
            done = await Bank(services).brings_confirmed(shown(seen))
        except OperatorRefusedError:
            assert seen.currency not in CATALOGUE.currencies
            return None
        if done.placed == 0:
            return None
        find = """
            SELECT merchant_id, transaction_id FROM rail_observations WHERE rail = $1
            ORDER BY at DESC, transaction_id DESC LIMIT 1
        """
        row = await services.db.fetchrow(find, self.provider.name)
        assert row is not None
        return await transaction_store.get(
            services.db, MerchantEnv(MerchantId(row["merchant_id"]), "live"), row["transaction_id"]
        )


@pytest.mark.usefixtures("bank")
async def test_the_checkout_shows_where_to_send_the_money(alice: Actor) -> None:
    link, _, reference = await offer(alice, "12.30")
    page = (await visit(link, alice)).ok().text
    for value, shown in ((BIC, BIC), (HOLDER, HOLDER), ("12.30", "€12.30")):
        assert f'data-copy-value="{value}">{shown}</span>' in page
    in_fours = " ".join(reference[at : at + 4] for at in range(0, len(reference), 4))
    for value, shown in ((IBAN, "DE89 3704 0044 0532 0130 00"), (reference, in_fours)):
        assert f'data-copy-value="{value}">{shown}</span>' in page
    assert f"The account is held by {HOLDER}, which receives payments for Alice&#39;s Coffee." in page
    assert 'download="payment.png"' in page
    german = (await visit(link, alice, **{"Accept-Language": "de"})).ok().text
    assert 'data-copy-value="12,30"' in german  # as forms of German banks take it
    assert 'class="qr"' in page
    methods = (await alice.get("/payment-methods", mode="live")).ok().body["payment_methods"]
    [sepa] = [method for method in methods if method["method_id"] == "sepa:EUR"]
    assert (sepa["available"], sepa["unavailable_reason"], sepa["type"]) == (True, None, "bank_transfer")


async def test_what_is_left_is_what_the_code_says(alice: Actor, bank: Bank) -> None:
    link, _, reference = await offer(alice, "12.30")
    before = (await visit(link, alice)).ok().text
    await bank.shows(paid(reference, 1_000))
    page = (await visit(link, alice)).ok().text
    assert 'data-copy-value="2.30"' in page
    assert before.partition('class="qr"')[2][:3_000] != page.partition('class="qr"')[2][:3_000]


async def test_the_code_is_what_banking_apps_read() -> None:
    reported = await BankTransfer(ACCOUNT).start_payment(EURO_ATTEMPT)
    reference = reference_of(EURO_ATTEMPT)
    assert payment_uri(reported, 1_050, 2) == (f"BCD\n002\n1\nSCT\n{BIC}\n{HOLDER}\n{IBAN}\nEUR10.50\n\n{reference}")
    without = await BankTransfer(BankAccount(IBAN, HOLDER)).start_payment(EURO_ATTEMPT)
    assert payment_uri(without, 5, 2).splitlines()[4:8] == ["", HOLDER, IBAN, "EUR0.05"]


def test_references_are_as_many_as_attempts() -> None:
    attempts = [Attempt(new_id(), "sepa:EUR", "EUR", 1) for _ in range(1_000)]
    assert len({reference_of(attempt) for attempt in attempts}) == 1_000
    assert reference_of(EURO_ATTEMPT) == "RF8232782160176424799687"


SET: dict[str, str] = {
    "TOLLHOUSE_BANK_IBAN": "de89 3704 0044 0532 0130 00",
    "TOLLHOUSE_BANK_BIC": "cobadeffxxx",
    "TOLLHOUSE_BANK_HOLDER": HOLDER,
}


def test_the_account_is_set_by_the_environment() -> None:
    assert bank_account(config.load(SET)) == ACCOUNT
    assert bank_account(config.load({})) is None
    assert bank_account(config.load({name: SET[name] for name in SET if "BIC" not in name})) == BankAccount(IBAN, HOLDER)


def test_an_instance_with_an_account_has_the_rail() -> None:
    nowhere = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing", "TOLLHOUSE_SECRET_KEYS": KEY}
    without = main.create_services(config.load(nowhere)).rails
    assert without.error("bank", "live") == "provider_not_configured"
    rails = main.create_services(config.load(nowhere | SET)).rails
    assert (rails.error("bank", "live"), rails.find("bank", "test")) == (None, None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"TOLLHOUSE_BANK_IBAN": "DE89370400440532013001"}, "TOLLHOUSE_BANK_IBAN must be the IBAN"),
        ({"TOLLHOUSE_BANK_IBAN": "US64SVBKUS6S3300958879"}, "TOLLHOUSE_BANK_IBAN must be the IBAN"),
        ({"TOLLHOUSE_BANK_BIC": "COBA"}, "TOLLHOUSE_BANK_BIC must be a BIC"),
        ({"TOLLHOUSE_BANK_HOLDER": "x" * 71}, "TOLLHOUSE_BANK_HOLDER must be a name"),
        ({"TOLLHOUSE_BANK_HOLDER": ""}, "must be set together"),
        ({"TOLLHOUSE_BANK_IBAN": ""}, "must be set together"),
    ],
)
def test_what_cannot_be_an_account(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(config.InvalidSettingsError) as refused:
        config.load(SET | changes)
    assert says in str(refused.value)
