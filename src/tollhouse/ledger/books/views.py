"""Balances and ledger entries as the API shows them."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example, example_id
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import format_minor
from tollhouse.ledger.books.model import EntryType, LedgerEntry, MerchantCode, PostedEntry
from tollhouse.ledger.books.store import Balance

DESCRIPTIONS: dict[EntryType, str] = {
    "payment": "A payment was received.",
    "payment_fee": "The fee of a payment was charged.",
    "refund": "A refund was paid to the customer.",
    "refund_reversal": "A refund was returned by the bank.",
    "chargeback": "The customer's bank reversed a payment.",
    "chargeback_fee": "The fee of a dispute was charged.",
    "chargeback_reversal": "A dispute was won.",
    "hold": "An amount was reserved.",
    "release": "A reserved amount was released.",
    "withdrawal": "A withdrawal was sent.",
    "withdrawal_fee": "The fee of a withdrawal was charged.",
    "network_fee": "The network fee of a withdrawal was charged.",
    "withdrawal_return": "A withdrawal was returned.",
    "conversion_out": "An amount was converted into another currency.",
    "conversion_in": "An amount was converted from another currency.",
    "conversion_fee": "The fee of a conversion was charged.",
    "balance_payment_out": "The owner of an application was paid.",
    "balance_payment_in": "A merchant paid through an application.",
    "balance_payment_refund": "A balance payment was refunded.",
    "fulfillment": "A fulfillment was delivered.",
    "fulfillment_refund": "A fulfillment was refunded.",
    "settlement": "A debt was repaid.",
    "adjustment": "An operator adjusted the balance.",
    "test_funding": "Test funds were added.",
}
"""The description of each type of entry."""


class ReservedBreakdown(Struct, frozen=True):
    """What the reserved amount is reserved for."""

    withdrawals: str
    """Reserved for withdrawals."""
    withdrawals_minor: int
    balance_payments: str
    """Reserved for balance payments."""
    balance_payments_minor: int
    refunds: str
    """Reserved for refunds."""
    refunds_minor: int
    fulfillments: str
    """Reserved for fulfillments."""
    fulfillments_minor: int


class BalanceView(Struct, frozen=True, kw_only=True):
    """GET /balances/{currency}. `total` is available + pending + reserved - debt."""

    object: Literal["balance"] = "balance"
    currency: str
    decimals: int
    available: str
    """What you can spend."""
    available_minor: int
    pending: str
    """What has arrived and is not final yet."""
    pending_minor: int
    reserved: str
    """What is set aside for actions that have not ended."""
    reserved_minor: int
    debt: str
    """What you owe; it is taken from the next payments."""
    debt_minor: int
    total: str
    """Available, pending and reserved, less debt."""
    total_minor: int
    reserved_breakdown: ReservedBreakdown
    """What the reserved amount is for."""
    version: int
    updated_at: Timestamp | None
    mode: Mode
    livemode: bool


class EntrySource(Struct, frozen=True):
    """The object an entry belongs to, such as a `transaction`."""

    type: Annotated[str, example("transaction")]
    """Type of the object, such as `transaction`."""
    id: Annotated[UUID, example(example_id("transaction_id"))]


class EntryView(Struct, frozen=True, kw_only=True):
    """GET /ledger/{id}. `amount` is positive; `signed_amount_minor` is signed in the account's own terms.

    `oauth_client_id` is the application that requested the change, or null.
    """

    id: UUID
    object: Literal["ledger_entry"] = "ledger_entry"
    ledger_transaction_id: UUID
    """ID of the journal entry; all its postings have the same one."""
    account: Annotated[MerchantCode, example("available")]
    """Part of the balance that changed."""
    direction: Annotated[Literal["credit", "debit"], example("credit")]
    """Side of the posting.

    credit: What can be spent increases, or debt decreases.
    debit: What can be spent decreases, or debt increases.
    """
    amount: str
    amount_minor: int
    signed_amount_minor: Annotated[int, example(420)]
    """Amount in minor units, negative if the account decreased."""
    balance_after: str
    """Balance of the account after the entry."""
    balance_after_minor: int
    currency: str
    type: Annotated[EntryType, example("payment")]
    """What the entry is for."""
    source: EntrySource
    """Object that caused the entry."""
    oauth_client_id: str | None
    description: Annotated[str, example("Payment")]
    """The entry in words."""
    sequence: Annotated[int, example(1)]
    """Number of the entry; it rises within an account."""
    created_at: Timestamp
    mode: Mode
    livemode: bool


def balance_view(balance: Balance, env: MerchantEnv, decimals: int) -> BalanceView:
    """A balance as responses and events show it."""
    amounts = {
        "available": balance.available_minor,
        "pending": balance.pending_minor,
        "reserved": balance.reserved_minor,
        "debt": balance.debt_minor,
        "total": balance.total_minor,
    }
    held = {
        "withdrawals": balance.held_for_withdrawals_minor,
        "balance_payments": balance.held_for_balance_payments_minor,
        "refunds": balance.held_for_refunds_minor,
        "fulfillments": balance.held_for_fulfillments_minor,
    }
    return BalanceView(
        currency=balance.currency,
        decimals=decimals,
        **_money_members(amounts, decimals),
        reserved_breakdown=ReservedBreakdown(**_money_members(held, decimals)),
        version=balance.version,
        updated_at=stamp_or_none(balance.updated_at),
        mode=env.mode,
        livemode=env.livemode,
    )


def entry_view(entry: LedgerEntry, env: MerchantEnv, decimals: int) -> EntryView:
    """An entry as responses and events show it."""
    return posted_entry_view(
        entry,
        env,
        decimals,
        balance_after=format_minor(entry.balance_after_minor, decimals),
        balance_after_minor=entry.balance_after_minor,
        sequence=entry.sequence,
        created_at=stamp(entry.created_at),
    )


def posted_entry_view(
    entry: PostedEntry,
    env: MerchantEnv,
    decimals: int,
    *,
    balance_after: str,
    balance_after_minor: int,
    sequence: int,
    created_at: Timestamp,
) -> EntryView:
    """An entry with the members that are known only when it is written."""
    is_increase = entry.delta_minor > 0
    grows_by_debit = entry.account == "debt"
    return EntryView(
        id=entry.id,
        ledger_transaction_id=entry.transaction_id,
        account=entry.account,
        direction="debit" if is_increase == grows_by_debit else "credit",
        amount=format_minor(abs(entry.delta_minor), decimals),
        amount_minor=abs(entry.delta_minor),
        signed_amount_minor=entry.delta_minor,
        balance_after=balance_after,
        balance_after_minor=balance_after_minor,
        currency=entry.currency,
        type=entry.type,
        source=EntrySource(entry.source.type, entry.source.id),
        oauth_client_id=entry.client_id,
        description=DESCRIPTIONS[entry.type],
        sequence=sequence,
        created_at=created_at,
        mode=env.mode,
        livemode=env.livemode,
    )


def _money_members(minors: dict[str, int], decimals: int) -> dict[str, Any]:
    """Each amount as two members: `name` and `name_minor`."""
    strings = {name: format_minor(minor, decimals) for name, minor in minors.items()}
    return {**strings, **{f"{name}_minor": minor for name, minor in minors.items()}}
