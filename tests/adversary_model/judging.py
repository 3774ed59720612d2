"""What the platform may lose, and no more: its position after a history, explained by fees, margins and named expenses.

The coins at the rail, without what merchants and customers are owed, are the platform's profit. By double entry that is its
income and its position in currencies, without its expenses. A position gains and loses as prices move: that is the market,
and nobody's doing. What it is worth in the moment in which it is taken is: so every conversion is judged at the prices of
that moment: the fixed rate of a payment for as much as was asked for and came in time, a quote for as long as it holds.
"""

from collections import Counter
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from tests.adversary_model import agent
from tests.adversary_model.quay import MARGIN_BPS, NAME, PAIR_FEE_BPS
from tests.adversary_model.story import Attempt, Story

WHOLE = 10_000
NOISE = 1 + Fraction(1, 10**9)
"""Rates have 18 decimals."""
QUOTE_HOLDS = timedelta(seconds=30)
OWN_WORDS = {"balance_payment_out", "fulfillment", "conversion_out"}
"""What only the merchant, or somebody in its name, has done."""

POSTINGS = """
    SELECT t.created_at, t.source_type, t.source_id, p.type, p.currency, p.amount, d.code AS debit, c.code AS credit,
           d.merchant_id AS payer
    FROM ledger_transactions t JOIN ledger_postings p ON p.transaction_id = t.id
    JOIN ledger_accounts d ON d.id = p.debit_account_id JOIN ledger_accounts c ON c.id = p.credit_account_id
    WHERE t.id > $1 AND t.mode = 'live' ORDER BY t.created_at, t.id, p.line
"""
CONVERSIONS = """
    SELECT c.from_currency, c.to_currency, c.from_amount_minor, c.to_amount_minor, c.transaction_id, c.reversal_id,
           c.created_at, q.created_at AS quoted_at
    FROM conversions c LEFT JOIN conversion_quotes q ON q.id = c.quote_id
    WHERE c.merchant_id = $1 AND c.mode = 'live' ORDER BY c.created_at, c.id
"""
RELEASED = "SELECT kind, amount_minor, currency, released_at FROM outgoing_transfers WHERE merchant_id = $1"


def violations_of(story: Story) -> list[str]:
    """A line for each gain of the adversary that nothing explains."""
    postings = story.yard.rows(POSTINGS, story.before)
    return [
        *_conversion_violations(story),
        *_expense_violations(story, postings),
        *_coin_violations(story, postings),
        *_suspension_violations(story, postings),
        *agent.violations_of(story),
    ]


def _conversion_violations(story: Story) -> list[str]:
    """Whoever converts gets no more than it is worth then, without margin or fee; money back, no more than it cost."""
    attempts = {attempt.payment_id: attempt for attempt in story.attempts}
    paid: dict[Any, int] = {}
    found: list[str] = []
    for row in story.yard.rows(CONVERSIONS, story.shop.merchant_id):
        attempt = attempts.get(row["transaction_id"])
        given, got, minor = row["from_currency"], row["to_currency"], row["from_amount_minor"]
        present = story.yard.market.rate(given, got, row["created_at"])
        if row["transaction_id"] is None:
            allowed = _allowed_by_quote(story, row, present)
        elif row["reversal_id"] is None:
            allowed = _allowed_for_payment(attempt, minor, present)
        else:
            allowed = minor * present * _margin_of(story, row) + _rounding_of(story, row, present)
            if attempt is not None and given == attempt.currency:
                allowed = min(allowed, Fraction(paid.get(row["reversal_id"], 0)))
            else:
                paid[row["reversal_id"]] = paid.get(row["reversal_id"], 0) + minor
        if row["to_amount_minor"] > allowed * NOISE:
            kind = _kind_of(story, row)
            found.append(
                f"a {kind} converted {minor} {given} to {row['to_amount_minor']} {got}, worth at most {float(allowed):.2f}"
            )
    return found


def _margin_of(story: Story, one: Any) -> Fraction:
    """A refund costs the margin. Money that was taken from the merchant may give back that of the payment."""
    kept = Fraction(WHOLE - MARGIN_BPS, WHOLE)
    return kept if one["reversal_id"] in story.refund_ids else 1 / kept


def _rounding_of(story: Story, one: Any, present: Fraction) -> Fraction:
    """The amounts of a payment were rounded up for it, and are given back with it."""
    return Fraction() if one["reversal_id"] in story.refund_ids else 3 + 2 * present


def _kind_of(story: Story, one: Any) -> str:
    if one["transaction_id"] is None:
        return "conversion"
    if one["reversal_id"] is None:
        return "payment"
    return "refund" if one["reversal_id"] in story.refund_ids else "chargeback"


def _allowed_for_payment(attempt: Attempt | None, minor: int, present: Fraction) -> Fraction:
    """The fixed rate for what was asked for and came in time, the present one for the rest; each with the margin."""
    present = present * (WHOLE - MARGIN_BPS) / WHOLE
    if attempt is None or attempt.fixed is None:
        return minor * present
    in_time_minor = min(minor, attempt.in_time_minor)
    attempt.in_time_minor -= in_time_minor
    return in_time_minor * max(attempt.fixed, present) + (minor - in_time_minor) * present


def _allowed_by_quote(story: Story, one: Any, present: Fraction) -> Fraction:
    quoted_at: datetime | None = one["quoted_at"]
    rate = present
    if quoted_at is not None and one["created_at"] - quoted_at < QUOTE_HOLDS:
        rate = story.yard.market.rate(one["from_currency"], one["to_currency"], quoted_at)
    return one["from_amount_minor"] * rate * (WHOLE - PAIR_FEE_BPS) / WHOLE


def _expense_violations(story: Story, postings: list[Any]) -> list[str]:
    """The one named expense here: a block that was dropped, for as much as had been refunded to the customer before."""
    spent: Counter[str] = Counter()
    for posting in postings:
        spent[posting["currency"]] += posting["amount"] * (
            posting["debit"].startswith("expense:") - posting["credit"].startswith("expense:")
        )
    explained: Counter[str] = Counter()
    for attempt in story.attempts:
        gone = sum(transfer.amount_minor for transfer in story.transfers if transfer.attempt is attempt and transfer.gone)
        explained[attempt.currency] += min(gone, story.refunded_minor(attempt.payment_id))
    return [
        f"the platform lost {minor} {code}, of which {explained[code]} is explained"
        for code, minor in spent.items()
        if minor > explained[code]
    ]


def _coin_violations(story: Story, postings: list[Any]) -> list[str]:
    """The ledger knows what is at the rail."""
    account = f"rail:{NAME}"
    known: Counter[str] = Counter()
    for posting in postings:
        known[posting["currency"]] += posting["amount"] * ((posting["debit"] == account) - (posting["credit"] == account))
    there = story.yard.quay.coins
    return [
        f"the ledger has {known[code]} {code} at the rail, where {there[code]} is"
        for code in {*known, *there}
        if known[code] != there[code]
    ]


def _suspension_violations(story: Story, postings: list[Any]) -> list[str]:
    """Nothing that the merchant or its partners decide leaves a suspended merchant, and nothing is handed to a rail."""

    def is_suspended(at: datetime | None) -> bool:
        return at is not None and any(begun < at and (end is None or at < end) for begun, end in story.suspended)

    if not story.suspended:
        return []
    left = [
        f"{posting['amount']} {posting['currency']} left the suspended merchant: {posting['type']}"
        for posting in postings
        if posting["payer"] == story.shop.merchant_id
        and posting["type"] in OWN_WORDS
        and is_suspended(posting["created_at"])
        and posting["source_type"] != "conversion"
    ]
    sent = [
        f"{row['amount_minor']} {row['currency']} of the suspended merchant was sent: {row['kind']}"
        for row in story.yard.rows(RELEASED, story.shop.merchant_id)
        if is_suspended(row["released_at"])
    ]
    return left + sent
