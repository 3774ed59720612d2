"""Settling: what a rail saw becomes the end of an attempt, money on the balance, and events; all in one transaction."""

from datetime import datetime
from uuid import UUID

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.catalogue.methods import METHODS, Fees
from tollhouse.events.record import NewEvent, record
from tollhouse.ledger.balances import balance_view, entry_view, in_currency
from tollhouse.ledger.model import Line, Posted, Posting, Source, available, income, rail
from tollhouse.ledger.post import post
from tollhouse.payments import store, transactions_store
from tollhouse.payments.model import Transaction, TransactionStatus
from tollhouse.payments.views import transaction_view
from tollhouse.platform.db import Tx
from tollhouse.rails.provider import Observation
from tollhouse.web.house import House

SOURCE = "transaction"


async def settle(
    tx: Tx, transaction: Transaction, seen: Observation, house: House, now: datetime, *, fees: Fees | None = None
) -> bool:
    """Let an open attempt end as the rail saw it. False when it had ended before: then nothing was done.

    `fees` are the method's own unless said. Locks the link, then the transaction, then the accounts: always in this order.
    """
    link = await store.lock(tx, transaction.env, transaction.payment_link_id)
    if link is None:
        raise AssertionError("a transaction has a link")
    if seen.outcome == "failed":
        return await fail(tx, transaction, seen.failure_code or "card_declined", house, now)
    if link.status_at(now) != "active":
        return False
    fee_minor = (fees or _fees_of(transaction)).of(seen.received_minor)
    version = await transactions_store.succeed_if_open(tx, transaction, seen.received_minor, fee_minor, now)
    if version is None:
        return False
    # Nothing below this line may refuse.
    if not await store.count_payment(tx, link, transaction.id, seen.received_minor, now):
        raise AssertionError("a locked, active link takes a payment")
    await transactions_store.add_step(tx, transaction.id, version, "succeeded", None, now)
    posted = await _credit(tx, transaction, seen.received_minor, fee_minor, now)
    await _tell(tx, transaction, "payment.succeeded", house, now)
    await _tell_balance(tx, transaction, posted, "succeeded", version, house, now)
    return True


async def fail(tx: Tx, transaction: Transaction, failure_code: str, house: House, now: datetime) -> bool:
    """Let an open attempt fail, and say so. False when it had ended before. The link must be locked."""
    version = await transactions_store.fail_if_open(tx, transaction, failure_code, now)
    if version is None:
        return False
    # Nothing below this line may refuse.
    await transactions_store.add_step(tx, transaction.id, version, "failed", failure_code, now)
    await _tell(tx, transaction, "payment.failed", house, now)
    return True


def _fees_of(transaction: Transaction) -> Fees:
    """The fees of its method; none where the method has left the catalogue meanwhile."""
    method = METHODS.get(transaction.method_id)
    return Fees() if method is None else method.fees


async def _credit(tx: Tx, transaction: Transaction, received_minor: int, fee_minor: int, now: datetime) -> Posted:
    mine, currency = available(transaction.env), transaction.currency
    lines = [Line("payment", currency, received_minor, rail(transaction.rail), mine)]
    if fee_minor > 0:
        lines.append(Line("payment_fee", currency, fee_minor, mine, income("payment_fee")))
    source = Source(SOURCE, transaction.id)
    return await post(tx, Posting(transaction.env.mode, "payment", source, tuple(lines), now))


async def _tell(tx: Tx, transaction: Transaction, event_type: str, house: House, now: datetime) -> None:
    """Record an event with the transaction as it is now."""
    env = transaction.env
    present = await transactions_store.one(tx, env, transaction.id)
    if present is None:
        raise AssertionError("transactions are never deleted")
    timeline = (await transactions_store.timelines(tx, env, [present.id]))[present.id]
    view = transaction_view(present, timeline)
    event = NewEvent(event_type, SOURCE, present.id, present.version, view, transaction.webhook_url)
    await record(tx, env, event, house=house, now=now)


async def _tell_balance(
    tx: Tx,
    transaction: Transaction,
    posted: Posted,
    status: TransactionStatus,
    version: int,
    house: House,
    now: datetime,
) -> None:
    """Record that the balance changed: one event for the ledger transaction, which is in one currency."""
    env, decimals = transaction.env, CURRENCIES[transaction.currency].decimals
    balance = await in_currency(tx, env, transaction.currency)
    cause: dict[str, str | int | UUID] = {"type": SOURCE, "id": transaction.id, "status": status, "version": version}
    extra = {"source": cause, "entries": [entry_view(entry, env, decimals) for entry in posted.entries]}
    view = balance_view(balance, env, decimals)
    event = NewEvent(
        "balance.updated", "ledger_transaction", posted.id, balance.version, view, transaction.webhook_url, extra
    )
    await record(tx, env, event, house=house, now=now)
