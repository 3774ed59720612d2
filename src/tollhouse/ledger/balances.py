"""Balances and entries as the interface shows them, read in one snapshot."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import format_minor
from tollhouse.ledger import store
from tollhouse.ledger.model import Entry, EntryType, MerchantCode
from tollhouse.ledger.store import Balance
from tollhouse.platform.db import Pool, Tx

DESCRIPTIONS: dict[EntryType, str] = {
    "payment": "A payment was received.",
    "payment_fee": "The fee of a payment was charged.",
    "refund": "A refund was paid to the customer.",
    "refund_reversal": "A refund was returned by the bank.",
    "chargeback": "The customer's bank took a payment back.",
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
    "test_funding": "Test money was added.",
}
"""What each type of entry says to people."""


class Breakdown(Struct, frozen=True):
    """What the reserved money is reserved for."""

    withdrawals: str
    withdrawals_minor: int
    balance_payments: str
    balance_payments_minor: int
    refunds: str
    refunds_minor: int
    fulfillments: str
    fulfillments_minor: int


class BalanceView(Struct, frozen=True, kw_only=True):
    """GET /balances/{currency}. `total` is available + pending + reserved - debt."""

    object: Literal["balance"] = "balance"
    currency: str
    decimals: int
    available: str
    available_minor: int
    pending: str
    pending_minor: int
    reserved: str
    reserved_minor: int
    debt: str
    debt_minor: int
    total: str
    total_minor: int
    reserved_breakdown: Breakdown
    version: int
    updated_at: Timestamp | None
    mode: Mode
    livemode: bool


class EntrySource(Struct, frozen=True):
    """What an entry came from, such as a `transaction`."""

    type: str
    id: UUID


class EntryView(Struct, frozen=True, kw_only=True):
    """GET /ledger/{id}. `amount` is positive; `signed_amount_minor` has the direction's sign in the account's own terms.

    `oauth_client_id` is the application that asked for it; null where a person, an API key or the service itself did.
    """

    id: UUID
    object: Literal["ledger_entry"] = "ledger_entry"
    ledger_transaction_id: UUID
    account: MerchantCode
    direction: Literal["credit", "debit"]
    amount: str
    amount_minor: int
    signed_amount_minor: int
    balance_after: str
    balance_after_minor: int
    currency: str
    type: EntryType
    source: EntrySource
    oauth_client_id: str | None
    description: str
    sequence: int
    created_at: Timestamp
    mode: Mode
    livemode: bool


async def of(db: Pool | Tx, env: MerchantEnv) -> list[Balance]:
    """The balances of a merchant in every currency with any history."""
    return await store.balances(db, env)


async def in_currency(db: Pool | Tx, env: MerchantEnv, currency: str) -> Balance:
    """The balance of a merchant in one currency; all zero where nothing ever happened."""
    found = await store.balances(db, env, currency)
    return found[0] if found else Balance(currency)


def balance_view(balance: Balance, env: MerchantEnv, decimals: int) -> BalanceView:
    """A balance as answers and events show it."""
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
        **_pairs(amounts, decimals),
        reserved_breakdown=Breakdown(**_pairs(held, decimals)),
        version=balance.version,
        updated_at=stamp_or_none(balance.updated_at),
        mode=env.mode,
        livemode=env.livemode,
    )


def entry_view(entry: Entry, env: MerchantEnv, decimals: int) -> EntryView:
    """An entry as answers and events show it."""
    raised = entry.delta_minor > 0
    grows_by_debit = entry.account == "debt"
    return EntryView(
        id=entry.id,
        ledger_transaction_id=entry.transaction_id,
        account=entry.account,
        direction="debit" if raised == grows_by_debit else "credit",
        amount=format_minor(abs(entry.delta_minor), decimals),
        amount_minor=abs(entry.delta_minor),
        signed_amount_minor=entry.delta_minor,
        balance_after=format_minor(entry.balance_after_minor, decimals),
        balance_after_minor=entry.balance_after_minor,
        currency=entry.currency,
        type=entry.type,
        source=EntrySource(entry.source.type, entry.source.id),
        oauth_client_id=entry.client_id,
        description=DESCRIPTIONS[entry.type],
        sequence=entry.sequence,
        created_at=stamp(entry.created_at),
        mode=env.mode,
        livemode=env.livemode,
    )


def _pairs(minors: dict[str, int], decimals: int) -> dict[str, Any]:
    """Each amount as the two members that every answer carries: `name` and `name_minor`."""
    strings = {name: format_minor(minor, decimals) for name, minor in minors.items()}
    return {**strings, **{f"{name}_minor": minor for name, minor in minors.items()}}
