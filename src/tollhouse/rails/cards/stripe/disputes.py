"""Disputes at the provider: what they say about a payment, and evidence in the provider's words."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from msgspec.structs import asdict

from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.kernel.rails.provider import Observation, ObservedDispute
from tollhouse.rails.cards.stripe.amounts import from_provider
from tollhouse.rails.cards.stripe.objects import StripeDispute

OPEN, CLOSED = frozenset({"needs_response", "under_review"}), frozenset({"won", "lost"})
"""Other statuses are those of inquiries, which take no money: `warning_needs_response` and the like."""
NAMES = {
    "refund_policy": "refund_policy_disclosure",
    "cancellation_policy": "cancellation_policy_disclosure",
}
"""Members of evidence that the provider calls otherwise: under our names it takes files."""
UNNAMED = {"customer_communication": "Customer communication", "service_documentation": "Service documentation"}
"""Members that are files at the provider. Our texts go into its text for everything else, below a heading."""
ANYTHING = "uncategorized_text"


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
