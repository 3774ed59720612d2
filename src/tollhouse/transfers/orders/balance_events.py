"""Records `balance.updated` events in the transaction that changed the balance."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example, example_id
from tollhouse.kernel.ids import MerchantId, Mode, new_id
from tollhouse.ledger.books.model import DeferredTransaction, ExpectedEntry, LedgerTransaction
from tollhouse.ledger.books.store import Balance, get_balance
from tollhouse.ledger.books.views import EntryView, balance_view, entry_view, expected_entry_view
from tollhouse.platform.database.packed_json import pack_template, place
from tollhouse.webhooks.events import store
from tollhouse.webhooks.events.destination import destination_key
from tollhouse.webhooks.events.record import HELD_FOR, NewEvent, encode_payload, record, wake_sender

EVENT_TYPE = "balance.updated"
SOURCE = "ledger_entry"
AMOUNTS = ("available", "pending", "reserved", "debt", "total")
RESERVATIONS = ("withdrawals", "balance_payments", "refunds", "fulfillments")
VERSION, UPDATED_AT, FIRST_ENTRY = 9, 10, 11
"""The numbers of the integers: of the amounts, in this order; of the version and time of the balance; of the first entry."""
INTEGERS_PER_ENTRY = 3


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
    posted: LedgerTransaction,
    cause: Cause,
    destination_url: str | None,
) -> None:
    """Record `balance.updated` for the entries of one currency, if there are any.

    The event's source is the first of these entries: a ledger transaction in two currencies records two events.
    """
    if isinstance(posted, DeferredTransaction):
        await _record_with_posting(work, env, currency, posted, cause, destination_url)
        return
    decimals = work.services.catalogue.currencies[currency].decimals
    entries = [entry for entry in posted.entries if entry.currency == currency]
    if entries:
        view = balance_view(await get_balance(work.tx, env, currency), env, decimals)
        extra = {"source": cause, "entries": [entry_view(entry, env, decimals) for entry in entries]}
        event = NewEvent(EVENT_TYPE, SOURCE, entries[0].id, view.version, view, destination_url, extra)
        await record(work, env, event)


async def _record_with_posting(
    work: Work, env: MerchantEnv, currency: str, posted: DeferredTransaction, cause: Cause, destination_url: str | None
) -> None:
    """Let the database fill in what the posting decides: one statement posts and records."""
    entries = [entry for entry in posted.entries if entry.currency == currency]
    if not entries:
        return
    event_id, decimals = new_id(), work.services.catalogue.currencies[currency].decimals
    views = [
        _entry_template(entry, env, decimals, FIRST_ENTRY + at * INTEGERS_PER_ENTRY) for at, entry in enumerate(entries)
    ]
    event = NewEvent(
        EVENT_TYPE,
        SOURCE,
        entries[0].id,
        _place(VERSION, "number"),
        _balance_template(currency, decimals, env.mode),
        destination_url,
        {"source": cause, "entries": views},
    )
    wake_sender(work, destination_url)
    await work.tx.defer(
        store.RECORD_BALANCE,
        event_id,
        env.merchant_id,
        env.mode,
        currency,
        posted.id,
        [entry.id for entry in entries],
        pack_template(encode_payload(event_id, env, event, work.now)),
        destination_url,
        None if destination_url is None else destination_key(env, destination_url),
        work.services.settings.deprecated_webhooks,
        work.now,
        HELD_FOR,
        work.actor.request_id,
    )


@lru_cache(maxsize=1_000)
def _balance_template(currency: str, decimals: int, mode: Mode) -> msgspec.Raw:
    """The balance of any merchant, with a place for each value."""
    view = balance_view(Balance(currency), MerchantEnv(MerchantId(UUID(int=0)), mode), decimals)
    breakdown = msgspec.structs.replace(view.reserved_breakdown, **_amount_places(RESERVATIONS, len(AMOUNTS), decimals))
    view = msgspec.structs.replace(
        view,
        **_amount_places(AMOUNTS, 0, decimals),
        reserved_breakdown=breakdown,
        version=_place(VERSION, "number"),
        updated_at=_place(UPDATED_AT, "time"),
    )
    return msgspec.Raw(msgspec.json.encode(view))


def _entry_template(entry: ExpectedEntry, env: MerchantEnv, decimals: int, first: int) -> EntryView:
    return expected_entry_view(
        entry,
        env,
        decimals,
        balance_after=_place(first, decimals),
        balance_after_minor=_place(first, "number"),
        sequence=_place(first + 1, "number"),
        created_at=_place(first + 2, "time"),
    )


def _amount_places(names: Sequence[str], first: int, decimals: int) -> dict[str, msgspec.Raw]:
    """The places of each amount, as a decimal string and in minor units."""
    strings = {name: _place(number, decimals) for number, name in enumerate(names, first)}
    return strings | {f"{name}_minor": _place(number, "number") for number, name in enumerate(names, first)}


def _place(number: int, meaning: Literal["number", "time"] | int) -> Any:
    return msgspec.Raw(place(number, meaning))
