"""What the provider says of the operator's balance there: its amounts, and each transaction that changed it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.rails.cards.stripe.objects import (
    StripeBalance,
    StripeBalanceAmount,
    StripeBalanceTransaction,
    StripeBalanceTransactionSource,
    from_provider,
)

PAYMENT, REFUND = "tollhouse_payment", "tollhouse_refund"
"""The names of our IDs in the metadata at the provider."""
BalanceTransactionKind = Literal["payment", "refund", "dispute", "payout", "fee", "other"]
KINDS: Mapping[str, BalanceTransactionKind] = {
    "charge": "payment",
    "refund": "refund",
    "refund_failure": "refund",
    "dispute": "dispute",
    "dispute_reversal": "dispute",
    "payout": "payout",
    "payout_reversal": "payout",
    "fee": "fee",
    "tax": "fee",
}
"""Kinds by the provider's reporting categories. All others are `other`: nothing here could have caused them."""


class ProviderBalance(Struct, frozen=True):
    """A currency of the balance: what can be paid out, and what will be able to later."""

    currency: str
    available_minor: int
    pending_minor: int


class BalanceTransaction(Struct, frozen=True, kw_only=True):
    """A change of the balance. `amount_minor` is without the fee, which is below zero if it was given back.

    `object_id`: the payment or refund of ours that the source names in its metadata.
    """

    external_id: str
    kind: BalanceTransactionKind
    category: str
    source: str | None
    payment_intent: str | None
    object_id: UUID | None
    currency: str
    amount_minor: int
    fee_minor: int
    created_at: datetime
    available_at: datetime


def read_amounts(balance: StripeBalance) -> list[ProviderBalance]:
    """The balance by currency. Raises `InexactAmountError`."""
    available, pending = _by_currency(balance.available), _by_currency(balance.pending)
    return [
        ProviderBalance(currency, available.get(currency, 0), pending.get(currency, 0))
        for currency in sorted({*available, *pending})
    ]


def read_transaction(found: StripeBalanceTransaction) -> BalanceTransaction:
    """A balance transaction in minor units. Raises `InexactAmountError`."""
    currency = found.currency.upper()
    source = found.source if isinstance(found.source, StripeBalanceTransactionSource) else None
    kind = KINDS.get(found.reporting_category, "other")
    object_id = None
    if kind in {"payment", "refund"}:
        object_id = _named(source, PAYMENT if kind == "payment" else REFUND)
    payment_intent = None if source is None or kind not in {"payment", "refund", "dispute"} else source.payment_intent
    if (kind in {"payment", "refund"} and object_id is None) or (kind in {"payment", "dispute"} and payment_intent is None):
        kind = "other"
    return BalanceTransaction(
        external_id=found.id,
        kind=kind,
        category=found.reporting_category,
        source=source.id if source is not None else found.source if isinstance(found.source, str) else None,
        payment_intent=payment_intent,
        object_id=object_id,
        currency=currency,
        amount_minor=from_provider(currency, found.amount),
        fee_minor=from_provider(currency, found.fee),
        created_at=datetime.fromtimestamp(found.created, UTC),
        available_at=datetime.fromtimestamp(found.available_on, UTC),
    )


def _by_currency(amounts: Sequence[StripeBalanceAmount]) -> dict[str, int]:
    return {one.currency.upper(): from_provider(one.currency.upper(), one.amount) for one in amounts}


def _named(source: StripeBalanceTransactionSource | None, name: str) -> UUID | None:
    try:
        return None if source is None else UUID((source.metadata or {})[name])
    except (KeyError, ValueError):
        return None
