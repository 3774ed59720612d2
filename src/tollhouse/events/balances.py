"""Records `balance.updated` events in the transaction that changed the balance."""

from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.events.record import NewEvent, record
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example, example_id
from tollhouse.ledger.model import PostedTransaction
from tollhouse.ledger.store import get_balance
from tollhouse.ledger.views import BalanceView, balance_view, entry_view


class Cause(Struct, frozen=True):
    """The object that changed the balance, with its new status and version."""

    type: Annotated[str, example("transaction")]
    id: Annotated[UUID, example(example_id("transaction_id"))]
    status: Annotated[str, example("succeeded")]
    version: Annotated[int, example(3)]


async def notify_balance(
    work: Work,
    env: MerchantEnv,
    currency: str,
    posted: PostedTransaction,
    cause: Cause,
    destination_url: str | None,
) -> BalanceView:
    """Record `balance.updated` for the entries of one currency. Returns the current balance.

    The event's source is the first of these entries: a ledger transaction in two currencies records two events.
    """
    decimals = work.services.catalogue.currencies[currency].decimals
    view = balance_view(await get_balance(work.tx, env, currency), env, decimals)
    entries = [entry for entry in posted.entries if entry.currency == currency]
    if entries:
        extra = {"source": cause, "entries": [entry_view(entry, env, decimals) for entry in entries]}
        event = NewEvent("balance.updated", "ledger_entry", entries[0].id, view.version, view, destination_url, extra)
        await record(work, env, event)
    return view
