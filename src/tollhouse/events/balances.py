"""Telling a merchant that its balance changed, in the transaction of the posting that changed it."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.events.record import NewEvent, record
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.model import PostedTransaction
from tollhouse.ledger.store import get_balance
from tollhouse.ledger.views import BalanceView, balance_view, entry_view
from tollhouse.platform.db import Tx


class Cause(Struct, frozen=True):
    """What moved the balance: an object, in the state and version it came into."""

    type: str
    id: UUID
    status: str
    version: int


async def notify_balance(
    tx: Tx,
    env: MerchantEnv,
    currency: str,
    posted: PostedTransaction,
    cause: Cause,
    destination_url: str | None,
    services: Services,
    now: datetime,
) -> BalanceView:
    """Record that the balance in one currency changed, once for each ledger transaction; the balance as it is now.

    The event's source is the first of the entries it tells: so a ledger transaction that touches two currencies tells twice.
    """
    decimals = CURRENCIES[currency].decimals
    view = balance_view(await get_balance(tx, env, currency), env, decimals)
    entries = [entry for entry in posted.entries if entry.currency == currency]
    if entries:
        extra = {"source": cause, "entries": [entry_view(entry, env, decimals) for entry in entries]}
        event = NewEvent("balance.updated", "ledger_entry", entries[0].id, view.version, view, destination_url, extra)
        await record(tx, env, event, services=services, now=now)
    return view
