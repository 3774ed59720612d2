"""Telling the merchant: events of payments and of the balance, recorded in the transaction of the deed."""

from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.events.record import NewEvent, record
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.balances import BalanceView, balance_view, entry_view, in_currency
from tollhouse.ledger.model import Posted
from tollhouse.payments.model import Chargeback, PaymentLink, Refund, Transaction
from tollhouse.payments.views import chargeback_view, link_view, refund_view, transaction_view
from tollhouse.platform.db import Tx
from tollhouse.web.house import House


class Cause(Struct, frozen=True):
    """What moved the balance: an object, in the state and version it came into."""

    type: str
    id: UUID
    status: str
    version: int


async def payment(
    tx: Tx,
    event_type: str,
    transaction: Transaction,
    house: House,
    now: datetime,
    *,
    refund: Refund | None = None,
    chargeback: Chargeback | None = None,
) -> None:
    """Record an event about a transaction as it is now."""
    extra: dict[str, Any] = {} if refund is None else {"refund": refund_view(refund, transaction.env)}
    if chargeback is not None:
        extra["chargeback"] = chargeback_view(chargeback, transaction.currency)
    event = NewEvent(
        event_type,
        "transaction",
        transaction.id,
        transaction.version,
        transaction_view(transaction, now),
        transaction.webhook_url,
        extra,
    )
    await record(tx, transaction.env, event, house=house, now=now)


async def link_expired(tx: Tx, link: PaymentLink, house: House, now: datetime) -> None:
    """Record that a link expired which nobody had tried to pay."""
    view = link_view(link, house.settings.base_url, now)
    event = NewEvent("payment.expired", "payment_link", link.id, link.version, view, link.webhook_url)
    await record(tx, link.env, event, house=house, now=now)


async def balance(
    tx: Tx,
    env: MerchantEnv,
    currency: str,
    posted: Posted,
    cause: Cause,
    destination_url: str | None,
    house: House,
    now: datetime,
) -> BalanceView:
    """Record that the balance in one currency changed, once for each ledger transaction; the balance as it is now.

    The event's source is the first of the entries it tells: so a ledger transaction that touches two currencies tells twice.
    """
    decimals = CURRENCIES[currency].decimals
    view = balance_view(await in_currency(tx, env, currency), env, decimals)
    entries = [entry for entry in posted.entries if entry.currency == currency]
    if entries:
        extra = {"source": cause, "entries": [entry_view(entry, env, decimals) for entry in entries]}
        event = NewEvent("balance.updated", "ledger_entry", entries[0].id, view.version, view, destination_url, extra)
        await record(tx, env, event, house=house, now=now)
    return view


async def moved(tx: Tx, transaction: Transaction, posted: Posted, cause: Cause, house: House, now: datetime) -> None:
    """Record what a posting of this transaction did to its merchant's balance, if it did anything."""
    if posted.entries:
        await balance(tx, transaction.env, transaction.currency, posted, cause, transaction.webhook_url, house, now)
