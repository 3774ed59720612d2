"""What the refunds of a disputed payment say against the dispute, as a draft of its evidence.

The draft is there when the dispute begins, and follows the refunds as long as nobody has changed it. It is in English, as
card networks and their providers expect.
"""

from collections.abc import Iterator

from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.rails.disputes import EVIDENCE_CHARS_MAX, Evidence
from tollhouse.payments.refunds import chargeback_responses_store as responses
from tollhouse.payments.transactions.model import Transaction


def of(payment: Transaction, catalogue: Catalogue) -> Evidence:
    """The evidence that the refunds of a payment are: nothing if it has none that succeeded or is pending."""
    text = "\n".join(_lines(payment, catalogue))
    return Evidence(uncategorized_text=text[:EVIDENCE_CHARS_MAX] or None)


async def follow(work: Work, before: Transaction, after: Transaction) -> None:
    """Let the draft of an open dispute say what the refunds of its locked payment are now."""
    was, becomes = of(before, work.services.catalogue), of(after, work.services.catalogue)
    if after.charged_back_minor and was != becomes:
        await responses.replace_evidence(work.tx, after.env, after.id, was, becomes, work.now)


def _lines(payment: Transaction, catalogue: Catalogue) -> Iterator[str]:
    currency = catalogue.currencies[payment.currency]
    standing = [one for one in reversed(payment.refunds) if one.status != "failed"]
    if standing:
        paid = currency.format(payment.received_minor)
        yield f"The merchant has refunded this payment of {paid} {payment.currency}:"
    for one in standing:
        amount = f"{currency.format(one.amount_minor)} {one.currency}"
        if one.status == "succeeded":
            named = "" if one.provider_reference is None else f", reference {one.provider_reference}"
            yield f"- {amount} on {one.updated_at.date()} (refund {one.id}{named})"
        else:
            yield f"- {amount}, requested on {one.created_at.date()} and on its way (refund {one.id})"
