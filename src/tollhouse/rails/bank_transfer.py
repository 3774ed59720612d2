"""The bank rail: customers transfer euros with a reference, and money leaves in files that an operator takes to the bank.

Nobody is dialled. What happened at the bank comes back in its statements, which an operator imports; so whatever was
handed in here is accepted, and pending until a statement says more.
"""

import hashlib
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.bank_codes import REFERENCE_DIGITS, creditor_reference, parse_iban
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.rails.provider import (
    Attempt,
    Health,
    Instructions,
    PayoutOrder,
    PayoutState,
    RefundOrder,
    RefundState,
    Submission,
)

NAME = "bank"
CURRENCY = "EUR"
WORDS = (
    "Transfer the amount from your bank account. Give the reference exactly as it stands here: it is how your payment "
    "is found. A transfer takes up to two working days."
)


class BankAccount(Struct, frozen=True):
    """An account at a bank, and whose it is. Within the euro area a transfer needs no BIC."""

    iban: str
    holder: str
    bic: str | None = None


class Payout(Struct, frozen=True, kw_only=True):
    """Money that was handed in to leave by the bank. Its id is our order's: of the refund, say, that it carries out.

    `receiver_name` is the receiver's own; none where it is not known.
    """

    id: UUID
    env: MerchantEnv
    currency: str
    amount_minor: int
    receiver_iban: str
    receiver_name: str | None = None
    words: str


class BankTransfer:
    """Live mode's euro transfers, by the account of the house."""

    name = NAME
    mode: Mode = "live"

    def __init__(self, account: BankAccount) -> None:
        self.account = account

    def health(self) -> Health:
        """An account is always there."""
        return Health(available=True)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """Where to send the money, and the reference that the statement will show."""
        return Instructions(
            reference=reference_of(attempt),
            words=WORDS,
            address=self.account.iban,
            holder=self.account.holder,
            bic=self.account.bic,
        )

    def receiver_error(self, receiver: str) -> str | None:
        """Money goes to an account that a euro transfer reaches, and that is not the one it comes from."""
        iban = parse_iban(receiver)
        if iban is None:
            return "This must be the IBAN of a SEPA account, such as FR14 2004 1010 0505 0001 3M02 606."
        return "This must be another account than the one that the money leaves." if iban == self.account.iban else None

    def account_of(self, receiver: str) -> str:
        """The IBAN, without spaces and in capitals."""
        return parse_iban(receiver) or receiver

    async def refund(self, order: RefundOrder) -> Submission:
        """It waits for an operator to export it. Its id is the end-to-end id that statements show."""
        return self._take(order)

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - as the seam asks
        """A statement ends it."""
        return RefundState("pending")

    async def payout(self, order: PayoutOrder) -> Submission:
        """The same as a refund."""
        return self._take(order)

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:  # noqa: ARG002 - as the seam asks
        """It cannot have been lost on the way here, because there is none: our own row is what waits."""
        return PayoutState("pending")

    def _take(self, order: RefundOrder | PayoutOrder) -> Submission:
        if order.currency != CURRENCY or self.receiver_error(order.receiver) is not None:
            return Submission("rejected", failure_code="receiver_invalid")
        return Submission("accepted", order.id.hex)


def reference_of(attempt: Attempt) -> str:
    """The creditor reference of this attempt: always the same one, one of 10^20."""
    number = int.from_bytes(hashlib.sha256(attempt.id.bytes).digest()) % 10**REFERENCE_DIGITS
    return creditor_reference(f"{number:0{REFERENCE_DIGITS}d}")
