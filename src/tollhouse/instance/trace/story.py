"""The whole story of an object or a request, of any merchant and both environments, for `tollhouse trace`."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.instance.trace import history_store as history
from tollhouse.instance.trace import store
from tollhouse.instance.trace.model import ORDER, Happening, LoggedCall, ObjectRow, Trace, TracedObjects, entry_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import created_at_of
from tollhouse.platform.database.pool import Tx
from tollhouse.webhooks.request_log.retention import kept_since

OUTGOING = frozenset({"refund", "withdrawal"})
BEFORE_ALL = timedelta(minutes=1)
"""Before the first object, for what the clocks of two machines differ by."""
LINK_PAYMENTS = f"A link has more payments: only its newest {store.PAYMENTS_OF_LINK_MAX} are here."


class _Found(Struct, frozen=True):
    """What an ID leads to: what it names by kind, and the requests that have it."""

    named: dict[str, set[UUID]]
    calls: list[LoggedCall]


async def trace(services: Services, named: UUID, now: datetime) -> Trace | None:
    """Everything that happened to an object, or by a request; None if nothing has this ID."""
    async with store.connection(services.db) as tx:
        found = await _find(tx, named)
        if not found.named and not found.calls:
            return None
        traced = await store.find_related(tx, found.named)
        objects = await store.list_objects(tx, traced)
        happened = _of_objects(objects, services.catalogue)
        happened += await history.list_rail_reports(tx, traced, services.catalogue)
        happened += await _consequences(tx, found, traced, objects, services.catalogue)
        happened += await _causes(tx, found, objects, happened, kept_since(services, now))
    happened.sort(key=lambda entry: (entry.at, ORDER[entry.kind]))
    is_cut = "payment_link" in found.named and len(traced.payments) >= store.PAYMENTS_OF_LINK_MAX
    return Trace([entry_of(happening) for happening in happened], [LINK_PAYMENTS] if is_cut else [])


async def _find(tx: Tx, named: UUID) -> _Found:
    calls = await store.find_calls(tx, named)
    ids = {named}
    for request in (named, *(call.id for call in calls)):
        ids |= await store.list_caused(tx, request)
    return _Found(await store.find_named(tx, ids.union(*(call.object_ids for call in calls))), calls)


def _of_objects(objects: Sequence[ObjectRow], catalogue: Catalogue) -> list[Happening]:
    """When each object was made, and its state since its last change."""
    happened: list[Happening] = []
    for row in objects:
        what = f"{row.kind} {history.priced(catalogue, row.amount_minor, row.currency)}"
        about = f" ({row.note})" if row.note else ""
        whose = f"{row.mode}, merchant {row.merchant_id}"
        happened.append(Happening(row.created_at, "object", f"{what} created{about}, {whose}", str(row.id)))
        if row.updated_at > row.created_at and row.kind != "transaction":  # whose states are all known
            happened.append(Happening(row.updated_at, "status", f"{row.kind} {row.status}", str(row.id)))
    return happened


async def _consequences(
    tx: Tx, found: _Found, traced: TracedObjects, objects: Sequence[ObjectRow], catalogue: Catalogue
) -> list[Happening]:
    """What left, what was posted, and what was delivered."""
    outgoing = [row.id for row in objects if row.kind in OUTGOING]
    transfers, transfer_ids = await history.list_transfers(tx, traced.bank_references, outgoing, catalogue)
    ids = _all_ids(found, objects) | transfer_ids
    postings, posted = await history.list_postings(tx, ids, catalogue)
    sources = ids.union(await history.list_entry_ids(tx, posted))
    events = await history.list_deliveries(tx, _merchants(found, objects), sources, found.named.get("event", ()))
    return [*transfers, *postings, *events]


async def _causes(
    tx: Tx, found: _Found, objects: Sequence[ObjectRow], happened: Sequence[Happening], log_since: datetime
) -> list[Happening]:
    """Operators' actions, audit events and requests."""
    merchants, ids = _merchants(found, objects), _all_ids(found, objects)
    first = min((entry.at for entry in (*happened, *_of_calls(found.calls, ()))), default=log_since) - BEFORE_ALL
    subjects = ids | {UUID(happening.id) for happening in happened if happening.kind == "transfer" and happening.id}
    actions = await history.list_operator_actions(tx, merchants, first, subjects)
    known = {happening.request_id for happening in happened if happening.request_id is not None} | {
        call.id for call in found.calls
    }
    audited = await history.list_audit_events(tx, merchants, first, ids, known)
    known |= {event.request_id for event in audited if event.request_id is not None}
    calls = await store.list_calls(tx, merchants, known, max(first, log_since), ids)
    calls += await store.list_makers(tx, merchants, ids, [row.created_at for row in objects], log_since)
    return [*actions, *audited, *_of_calls([*found.calls, *calls], known)]


def _all_ids(found: _Found, objects: Sequence[ObjectRow]) -> set[UUID]:
    return {row.id for row in objects}.union(*found.named.values())


def _merchants(found: _Found, objects: Sequence[ObjectRow]) -> list[UUID]:
    owners = {row.owner_id for row in objects if row.owner_id is not None}
    return list({row.merchant_id for row in objects} | owners | {call.merchant_id for call in found.calls})


def _of_calls(calls: Sequence[LoggedCall], known: Collection[UUID]) -> list[Happening]:
    """Each request once; those that the log does not have by the time in their ID."""
    by_id = {call.id: call for call in calls}
    logged = [Happening(call.created_at, "request", _describe_call(call), str(call.id)) for call in by_id.values()]
    return logged + [
        Happening(created_at_of(call), "request", "a page, or no longer in the request log", str(call))
        for call in known
        if call not in by_id
    ]


def _describe_call(call: LoggedCall) -> str:
    error = f" {call.error}" if call.error else ""
    replayed = ", replayed" if call.replayed else ""
    chosen = f", X-Request-Id {call.request_id}" if call.request_id != call.id else ""
    took = f"{call.duration_us / 1000:.1f} ms"
    return f"{call.method} {call.path} {call.status}{error}, {took}, by {call.credential}{replayed}{chosen}"
