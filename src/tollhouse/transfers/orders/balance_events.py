"""Records `balance.updated` events in the transaction that changed the balance."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example, example_id
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.ledger.books.model import LedgerTransaction, PostedEntry
from tollhouse.ledger.books.store import Balance
from tollhouse.ledger.books.views import EntryView, balance_view, posted_entry_view
from tollhouse.webhooks.events.record import BALANCE, BalancePosting, balance_entry, record_with_posting

AMOUNTS = ("available", "pending", "reserved", "debt", "total")
RESERVATIONS = ("withdrawals", "balance_payments", "refunds", "fulfillments")


class Cause(Struct, frozen=True):
    """The object that changed the balance, with its new status and version."""

    type: Annotated[str, example("transaction")]
    """Type of the object."""
    id: Annotated[UUID, example(example_id("transaction_id"))]
    status: Annotated[str, example("succeeded")]
    """New status of the object."""
    version: Annotated[int, example(3)]


async def notify_balance(
    work: Work, env: MerchantEnv, currency: str, posted: LedgerTransaction, cause: Cause, destination_url: str | None
) -> None:
    """Record `balance.updated` for the entries of one currency, if there are any.

    The event's source is the first of these entries: a ledger transaction in two currencies records two events.
    """
    entries = [entry for entry in posted.entries if entry.currency == currency]
    if not entries:
        return
    decimals = work.services.catalogue.currencies[currency].decimals
    data = {
        "object": _balance_after(currency, decimals, env.mode),
        "source": cause,
        "entries": [_entry_after(entry, index, env, decimals) for index, entry in enumerate(entries)],
    }
    posting = BalancePosting(currency, posted.id, [entry.id for entry in entries])
    await record_with_posting(work, env, posting, data, destination_url)


@lru_cache(maxsize=1_000)
def _balance_after(currency: str, decimals: int, mode: Mode) -> msgspec.Raw:
    """The balance of any merchant after a posting, whose values the database fills in."""
    view = balance_view(Balance(currency), MerchantEnv(MerchantId(UUID(int=0)), mode), decimals)
    view = msgspec.structs.replace(
        view,
        **_amounts_after(AMOUNTS, decimals),
        reserved_breakdown=msgspec.structs.replace(view.reserved_breakdown, **_amounts_after(RESERVATIONS, decimals)),
        version=BALANCE.number("version"),
        updated_at=BALANCE.time("updated_at"),
    )
    return msgspec.Raw(msgspec.json.encode(view))


def _amounts_after(names: Sequence[str], decimals: int) -> dict[str, Any]:
    """Each amount as a decimal string and in minor units."""
    strings = {name: BALANCE.amount(name, decimals) for name in names}
    return strings | {f"{name}_minor": BALANCE.number(name) for name in names}


def _entry_after(entry: PostedEntry, index: int, env: MerchantEnv, decimals: int) -> EntryView:
    values = balance_entry(index)
    return posted_entry_view(
        entry,
        env,
        decimals,
        balance_after=values.amount("balance_after", decimals),
        balance_after_minor=values.number("balance_after"),
        sequence=values.number("sequence"),
        created_at=values.time("created_at"),
    )
