"""What the provider says of a payment page, of a dispute and of the balance there, and evidence in its words."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict

from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.kernel.rails.provider import Observation, ObservedDispute, Payer
from tollhouse.rails.cards.stripe.objects import (
    CheckoutSession,
    PaymentIntent,
    StripeBalance,
    StripeBalanceAmount,
    StripeBalanceTransaction,
    StripeBalanceTransactionSource,
    StripeCharge,
    StripeDispute,
    from_provider,
)

OPEN, CLOSED = frozenset({"needs_response", "under_review"}), frozenset({"won", "lost"})
"""Other statuses are those of inquiries, which take no money: `warning_needs_response` and the like."""
NAMES = {"refund_policy": "refund_policy_disclosure", "cancellation_policy": "cancellation_policy_disclosure"}
"""Members of evidence that the provider calls otherwise: under our names it takes files."""
UNNAMED = {"customer_communication": "Customer communication", "service_documentation": "Service documentation"}
"""Members that are files at the provider. Our texts go into its text for everything else, below a heading."""
ANYTHING = "uncategorized_text"
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


def intent_of(session: CheckoutSession) -> PaymentIntent | None:
    """The payment of the page; None before the customer has begun to pay. It must have been expanded."""
    return session.payment_intent if isinstance(session.payment_intent, PaymentIntent) else None


def is_ended(session: CheckoutSession) -> bool:
    """Whether the page can no longer be paid, and its payment has succeeded or never will."""
    intent = intent_of(session)
    if intent is None:
        return session.status == "expired"
    return intent.status in {"succeeded", "canceled"} or (session.status == "expired" and intent.status != "processing")


def observe(session: CheckoutSession) -> Observation | None:
    """The observation of the current state; None while nothing has happened.

    A declined card is no observation: the customer tries another one on the same page, until it expires. The states of
    one page come in one order only, and `confirmed` and `failed` are final, so that an earlier state that is read
    late changes nothing. Raises `InexactAmountError`.
    """
    intent = intent_of(session)
    if intent is not None and intent.status == "succeeded":
        currency = intent.currency.upper()
        received = intent.amount if intent.amount_received is None else intent.amount_received
        charged_at = _charged_at(intent)
        return Observation(
            reference=session.id,
            outcome="confirmed",
            external_ref=intent.id,
            amount_minor=from_provider(currency, received),
            currency=currency,
            payer=Payer(intent.id),
            sent_at=charged_at,
            arrived_at=charged_at,
        )
    if intent is not None and intent.status == "processing":
        currency = intent.currency.upper()
        return Observation(
            reference=session.id,
            outcome="seen",
            external_ref=intent.id,
            amount_minor=from_provider(currency, intent.amount),
            currency=currency,
        )
    if is_ended(session):
        return Observation(
            reference=session.id, outcome="failed", external_ref=session.id, failure_code="canceled_by_customer"
        )
    return None


def _charged_at(intent: PaymentIntent) -> datetime | None:
    """When the card was charged."""
    charge = intent.latest_charge
    return datetime.fromtimestamp(charge.created, UTC) if isinstance(charge, StripeCharge) else None


def closed(dispute: StripeDispute) -> Literal["won", "lost"] | None:
    """How it ended; None while it is open."""
    return "won" if dispute.status == "won" else "lost" if dispute.status == "lost" else None


def due_at(dispute: StripeDispute) -> datetime | None:
    """Until when the provider takes evidence."""
    due_by = None if dispute.evidence_details is None else dispute.evidence_details.due_by
    return None if due_by is None else datetime.fromtimestamp(due_by, UTC)


def observe_dispute(dispute: StripeDispute, reference: str) -> Observation | None:
    """The money of the dispute is gone, or back if it was won; None for an inquiry. Raises `InexactAmountError`."""
    if dispute.payment_intent is None or dispute.status not in OPEN | CLOSED:
        return None
    currency = dispute.currency.upper()
    return Observation(
        reference=reference,
        outcome="reversed",
        external_ref=dispute.payment_intent,
        amount_minor=from_provider(currency, dispute.amount),
        currency=currency,
        dispute=ObservedDispute(
            id=dispute.id, reason=dispute.reason, evidence_due_at=due_at(dispute), closed=closed(dispute)
        ),
    )


def evidence_form(evidence: Evidence) -> dict[str, str]:
    """The evidence as members of a request."""
    given: dict[str, str] = {name: text for name, text in asdict(evidence).items() if text is not None}
    form = {f"evidence[{NAMES.get(name, name)}]": text for name, text in given.items() if name not in UNNAMED}
    if anything := "\n\n".join(_anything(given)):
        form[f"evidence[{ANYTHING}]"] = anything
    return form


def _anything(given: dict[str, str]) -> Iterator[str]:
    if ANYTHING in given:
        yield given[ANYTHING]
    for name, heading in UNNAMED.items():
        if name in given:
            yield f"{heading}:\n{given[name]}"


class ProviderBalance(Struct, frozen=True):
    """A currency of the balance: what can be paid out, and what will be able to later."""

    currency: str
    available_minor: int
    pending_minor: int


class BalanceTransaction(Struct, frozen=True, kw_only=True):
    """A change of the balance. `amount_minor` is without the fee, which is below zero if it was given back.

    `object_id`: our payment or refund that the source names in its metadata.
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
    return {amount.currency.upper(): from_provider(amount.currency.upper(), amount.amount) for amount in amounts}


def _named(source: StripeBalanceTransactionSource | None, name: str) -> UUID | None:
    try:
        return None if source is None else UUID((source.metadata or {})[name])
    except (KeyError, ValueError):
        return None
