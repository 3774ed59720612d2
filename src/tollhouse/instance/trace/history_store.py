"""SQL of what happened to the objects of a story. Every statement looks rows up by an index."""

from collections.abc import Collection
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from tollhouse.instance.trace.model import Happening, TracedObjects
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import created_at_of
from tollhouse.platform.database.pool import Row, Tx

AUDIT_EVENTS_MAX = 10_000
"""Audit events of a merchant that are looked through."""
LEDGER_SOURCES = (
    "transaction", "refund", "chargeback", "payment_reversal", "conversion", "withdrawal", "balance_payment",
    "fulfillment", "bank_transfer", "bank_entry", "adjustment", "chain_payout", "rail_float", "test_funding",
)  # fmt: skip
"""The kinds of object that ledger transactions have, for the index that begins with them."""

STEPS = """
    SELECT at, transaction_id AS id, status, detail FROM transaction_steps WHERE transaction_id = ANY ($1::uuid[])
    ORDER BY transaction_id, version
"""
OBSERVATIONS = """
    SELECT at, transaction_id AS id, rail, external_ref, outcome, currency, amount_minor, confirmations
    FROM rail_observations WHERE transaction_id = ANY ($1::uuid[])
"""
TRANSFERS = """
    SELECT id, kind, rail, review, approvals_needed, approvals, reviewed_at, released_at, closed_at
    FROM outgoing_transfers WHERE id = ANY ($1::uuid[])
"""
PAYOUTS = """
    SELECT id, 'bank' AS rail, status, batch_id::text AS reference, prepared_at AS created_at, updated_at
    FROM bank_payouts WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT id, rail, status, tx_hash, created_at, updated_at FROM chain_payouts WHERE id = ANY ($1)
    UNION ALL
    SELECT id, rail, status, txid, created_at, updated_at FROM bitcoin_payouts WHERE id = ANY ($1)
"""
# $1: references of payments, $2: refunds and withdrawals.
BANK_TRANSFERS = """
    SELECT p.id, p.outcome, p.amount_minor, e.currency, e.side, e.booked_on, p.return_reason
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.outcome = 'payment' AND p.reference = ANY ($1::text[])
    UNION
    SELECT p.id, p.outcome, p.amount_minor, e.currency, e.side, e.booked_on, p.return_reason
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.payout_id IS NOT NULL AND p.payout_id = ANY ($2::uuid[])
"""
LEDGER = """
    SELECT t.id, t.kind, t.created_at AS at, p.line, p.type, p.currency, p.amount, d.code AS debit, c.code AS credit
    FROM ledger_transactions t
    JOIN ledger_postings p ON p.transaction_id = t.id
    JOIN ledger_accounts d ON d.id = p.debit_account_id
    JOIN ledger_accounts c ON c.id = p.credit_account_id
    WHERE t.source_type = ANY ($1::text[]) AND t.source_id = ANY ($2::uuid[])
    ORDER BY t.id, p.line
"""
ENTRIES = "SELECT id FROM ledger_entries WHERE transaction_id = ANY ($1::uuid[])"
EVENT = "id, type, status, attempts, next_attempt_at, destination_url, created_at AS at, request_id"
# $1: merchants, $2: objects and ledger entries, $3: events.
EVENTS = f"""
    SELECT {EVENT} FROM webhook_events
    WHERE merchant_id = ANY ($1::uuid[]) AND mode = ANY ('{{live,test}}') AND source_id = ANY ($2::uuid[])
    UNION
    SELECT {EVENT} FROM webhook_events WHERE id = ANY ($3::uuid[])
"""
ATTEMPTS = """
    SELECT event_id, attempt, trigger, status, error, http_status, started_at AS at, duration_ms
    FROM webhook_attempts WHERE event_id = ANY ($1::uuid[])
"""
# Of these merchants and of the platform since $2, and those with these IDs.
ACTIONS = """
    SELECT id, at, operator, action, reason, on_command_line FROM operator_actions
    WHERE merchant_id = ANY ($1::uuid[]) AND at >= $2 AND subject_id = ANY ($3::uuid[])
    UNION
    SELECT id, at, operator, action, reason, on_command_line FROM operator_actions
    WHERE merchant_id IS NULL AND at >= $2 AND subject_id = ANY ($3)
    UNION
    SELECT id, at, operator, action, reason, on_command_line FROM operator_actions WHERE id = ANY ($3)
"""
AUDIT_EVENTS = """
    SELECT a.id, a.created_at AS at, a.deed, a.author_kind, a.author, a.request_id
    FROM unnest($1::uuid[]) AS m (id) CROSS JOIN LATERAL (
        SELECT id, created_at, deed, author_kind, author, request_id, subject FROM audit_lines
        WHERE merchant_id = m.id AND created_at >= $2 ORDER BY created_at DESC, id DESC LIMIT $5) AS a
    WHERE a.subject = ANY ($3::text[]) OR a.request_id = ANY ($4::uuid[])
"""


async def list_rail_reports(tx: Tx, traced: TracedObjects, catalogue: Catalogue) -> list[Happening]:
    """The states of payments, and what rails reported of them."""
    steps = [
        Happening(row["at"], "status", _joined(f"transaction {row['status']}", row["detail"]), str(row["id"]))
        for row in await tx.fetch_custom_plan(STEPS, traced.payments)
    ]
    return steps + [
        Happening(row["at"], "rail", _describe_observation(row, catalogue), str(row["id"]))
        for row in await tx.fetch_custom_plan(OBSERVATIONS, traced.payments)
    ]


async def list_transfers(
    tx: Tx, references: list[str], outgoing: Collection[UUID], catalogue: Catalogue
) -> tuple[list[Happening], set[UUID]]:
    """Reviews, releases and payouts of what leaves, and transfers of the bank; also the IDs of these transfers."""
    happened: list[Happening] = []
    for row in await tx.fetch_custom_plan(TRANSFERS, list(outgoing)):
        review = f"{row['kind']} {row['review']} by {', '.join(row['approvals']) or 'nobody'}"
        for name, summary in (
            ("reviewed_at", f"review: {review}, {row['approvals_needed']} needed"),
            ("released_at", f"{row['kind']} released to {row['rail']}"),
            ("closed_at", f"{row['kind']} closed"),
        ):
            if row[name] is not None:
                happened.append(Happening(row[name], "transfer", summary, str(row["id"])))
    for row in await tx.fetch_custom_plan(PAYOUTS, list(outgoing)):
        summary = _joined(f"payout by {row['rail']} {row['status']}", row["reference"])
        happened.append(Happening(row["updated_at"], "transfer", summary, str(row["id"])))
    rows = await tx.fetch_custom_plan(BANK_TRANSFERS, references, list(outgoing))
    return happened + [_bank_transfer(row, catalogue) for row in rows], {row["id"] for row in rows}


async def list_postings(tx: Tx, objects: Collection[UUID], catalogue: Catalogue) -> tuple[list[Happening], list[UUID]]:
    """The postings of these objects, and the IDs of their ledger transactions."""
    rows = await tx.fetch_custom_plan(LEDGER, list(LEDGER_SOURCES), list(objects))
    postings = [Happening(row["at"], "ledger", _describe_posting(row, catalogue), str(row["id"])) for row in rows]
    return postings, list(dict.fromkeys(row["id"] for row in rows))


async def list_entry_ids(tx: Tx, ledger_transactions: list[UUID]) -> list[UUID]:
    """The merchants' entries of these ledger transactions: `balance.updated` events are about them."""
    return [row["id"] for row in await tx.fetch_custom_plan(ENTRIES, ledger_transactions)]


async def list_deliveries(
    tx: Tx, merchants: list[UUID], sources: Collection[UUID], events: Collection[UUID]
) -> list[Happening]:
    """Events about these objects and entries and these events, with their attempts."""
    rows = await tx.fetch_custom_plan(EVENTS, merchants, list(sources), list(events))
    requests = {row["id"]: row["request_id"] for row in rows}
    attempts = await tx.fetch_custom_plan(ATTEMPTS, list(requests))
    return [
        *(Happening(row["at"], "event", _describe_event(row), str(row["id"]), row["request_id"]) for row in rows),
        *(
            Happening(row["at"], "attempt", _describe_attempt(row), str(row["event_id"]), requests[row["event_id"]])
            for row in attempts
        ),
    ]


async def list_operator_actions(
    tx: Tx, merchants: list[UUID], since: datetime, subjects: Collection[UUID]
) -> list[Happening]:
    """Operators' actions on these subjects, and these actions."""
    return [
        Happening(
            row["at"],
            "operator",
            _joined(f"{row['action']} by {row['operator']}{' on the command line' * row['on_command_line']}", row["reason"]),
            str(row["id"]),
        )
        for row in await tx.fetch_custom_plan(ACTIONS, merchants, since, list(subjects))
    ]


async def list_audit_events(
    tx: Tx, merchants: list[UUID], since: datetime, subjects: Collection[UUID], requests: Collection[UUID]
) -> list[Happening]:
    """Audit events of these subjects or requests."""
    named = [str(subject) for subject in subjects]
    return [
        Happening(
            row["at"],
            "audit",
            f"{row['deed']} by {' '.join(filter(None, (row['author_kind'], row['author'])))}",
            str(row["id"]),
            row["request_id"],
        )
        for row in await tx.fetch_custom_plan(AUDIT_EVENTS, merchants, since, named, list(requests), AUDIT_EVENTS_MAX)
    ]


def priced(catalogue: Catalogue, minor: int, currency: str) -> str:
    """An amount with its currency; in minor units if the catalogue no longer has the currency."""
    return catalogue.priced(minor, currency) if currency in catalogue.currencies else f"{minor} minor units of {currency}"


def _joined(text: str, more: str | None) -> str:
    return f"{text}: {more}" if more else text


def _describe_posting(row: Row, catalogue: Catalogue) -> str:
    amount = priced(catalogue, row["amount"], row["currency"])
    return f"{row['type']} {amount}: debit {row['debit']}, credit {row['credit']}"


def _describe_observation(row: Row, catalogue: Catalogue) -> str:
    confirmations = f", {row['confirmations']} confirmations" if row["confirmations"] else ""
    amount = priced(catalogue, row["amount_minor"], row["currency"])
    return f"{row['rail']} {row['outcome']} {amount}{confirmations}: {row['external_ref']}"


def _bank_transfer(row: Row, catalogue: Catalogue) -> Happening:
    way = "received" if row["side"] == "credit" else "sent"
    amount = priced(catalogue, row["amount_minor"], row["currency"])
    summary = _joined(f"bank transfer {way} {amount}, booked on {row['booked_on']}, {row['outcome']}", row["return_reason"])
    return Happening(created_at_of(row["id"]), "transfer", summary, str(row["id"]))


def _describe_event(row: Row) -> str:
    host = urlsplit(row["destination_url"] or "").hostname
    waits = "" if row["next_attempt_at"] is None else f", next attempt {row['next_attempt_at']:%Y-%m-%d %H:%M:%S} UTC"
    return f"{row['type']}, delivery {row['status']}{f', to {host}' if host else ''}{waits}"


def _describe_attempt(row: Row) -> str:
    outcome = row["status"] if row["error"] is None else f"{row['status']}, {row['error']}"
    return f"attempt {row['attempt']} {outcome}, {row['duration_ms']} ms, {row['trigger']}"
