"""The bank transfer rail: customers transfer euros with a reference, and operators take payment files to the bank.

There is no connection to the bank. Operators import its statements, which report what happened; until then, every
accepted order is pending.
"""

import hashlib
from datetime import datetime, timedelta

from msgspec import Struct

from tollhouse.kernel.bank_codes import REFERENCE_DIGITS, PostalAddress, creditor_reference, iban_error, parse_iban
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import (
    Attempt,
    Health,
    Instructions,
    PaymentTimes,
    PayoutOrder,
    PayoutState,
    RefundOrder,
    RefundState,
    Submission,
)
from tollhouse.kernel.text import Translatable
from tollhouse.platform.settings.config import Settings
from tollhouse.rails.batches.model import Order

NAME = "bank"
CURRENCY = "EUR"
WORDS = (
    "Transfer the amount from your bank account. Enter the reference exactly as shown, so that your payment can be "
    "matched. A transfer takes up to two business days."
)
TIMES = PaymentTimes(settlement=timedelta(days=5), link_lifetime_min=timedelta(days=7))
"""Two business days, around a weekend and a bank holiday."""


class BankAccount(Struct, frozen=True):
    """A bank account and its holder. Transfers within the EEA need no BIC and no address."""

    iban: str
    holder: str
    bic: str | None = None
    address: PostalAddress | None = None


class Payout(Order, frozen=True, kw_only=True):
    """A transfer to export. Its id is that of the order, for example of the refund.

    `receiver_name` is empty if unknown. `payment_reference` is that of the payment that a refund returns.
    """

    currency: str
    amount_minor: int
    receiver_iban: str
    receiver_name: str | None = None
    receiver_bic: str | None = None
    receiver_address: PostalAddress | None = None
    payment_reference: str | None = None
    words: str


class BankTransfer:
    """Euro transfers of live mode, to and from the account of the instance."""

    name = NAME
    mode: Mode = "live"
    is_exported = True
    times = TIMES

    def __init__(self, account: BankAccount) -> None:
        self.account = account

    def health(self) -> Health:
        """Always available."""
        return Health(available=True)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """The account to pay to, and the reference that the statement will show."""
        return Instructions(
            reference=reference_of(attempt),
            words=WORDS,
            address=self.account.iban,
            holder=self.account.holder,
            bic=self.account.bic,
        )

    def receiver_error(self, receiver: str) -> Translatable | None:
        """The account must be reachable by euro transfer and must not be the instance's own."""
        iban = parse_iban(receiver)
        if iban is None:
            return iban_error(receiver)
        return "This must be a different account from the one that sends the money." if iban == self.account.iban else None

    def account_of(self, receiver: str) -> str:
        """The IBAN, without spaces and in capitals."""
        return parse_iban(receiver) or receiver

    async def refund(self, order: RefundOrder) -> Submission:
        """Insert the transfer, which waits for an export. Its id is the end-to-end id that statements show."""
        return self._take(order)

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - as the seam asks
        """Pending: a statement reports the outcome."""
        return RefundState("pending")

    async def payout(self, order: PayoutOrder) -> Submission:
        """Insert the transfer, which waits for an export. Its id is the end-to-end id that statements show."""
        return self._take(order)

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:  # noqa: ARG002 - as the seam asks
        """Pending: a statement reports the outcome. Orders cannot get lost, as they are rows of this database."""
        return PayoutState("pending")

    def _take(self, order: RefundOrder | PayoutOrder) -> Submission:
        if order.currency != CURRENCY or self.receiver_error(order.receiver) is not None:
            return Submission("rejected", failure_code="receiver_invalid")
        return Submission("accepted", order.id.hex)


def reference_of(attempt: Attempt) -> str:
    """The creditor reference of an attempt: a stable one of 10^20."""
    number = int.from_bytes(hashlib.sha256(attempt.id.bytes).digest()) % 10**REFERENCE_DIGITS
    return creditor_reference(f"{number:0{REFERENCE_DIGITS}d}")


def bank_account(settings: Settings) -> BankAccount | None:
    """The bank account of the instance; None if it is not set."""
    if settings.bank_iban is None or settings.bank_holder is None:
        return None
    return BankAccount(settings.bank_iban, settings.bank_holder, settings.bank_bic, settings.bank_address)
