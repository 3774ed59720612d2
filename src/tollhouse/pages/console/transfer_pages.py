"""The operators' page about bank transfers that were applied to no payment or payout, and its export as CSV."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.csv_table import download, file_name, lines
from tollhouse.http.lists import DeepPageQuery, filters_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Services
from tollhouse.kernel import messages
from tollhouse.kernel.clock import parse_date
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console.layout import FormState, render
from tollhouse.rails.bank import imports_store, transfers_store
from tollhouse.rails.bank.actions import Suggestion, suggest
from tollhouse.rails.bank.imports import ANNOUNCED_FOR
from tollhouse.rails.bank.transfers_store import FoundTransfer, TransferFilter, TransferSort

OPERATIONS = Operations(PAGES)
ANNOUNCED_SHOWN = 50
ROWS_AT_ONCE = 500
HEADER = (
    "transfer_id",
    "booked_on",
    "age_days",
    "direction",
    "currency",
    "amount",
    "counterparty",
    "iban",
    "bic",
    "remittance_information",
    "end_to_end_id",
    "result",
    "reason",
    "reference",
    "suggested_reference",
    "suggestion_reason",
)


class TransfersQuery(DeepPageQuery, frozen=True):
    """The filters and the order of the list; by default the transfers that wait for a decision, oldest first.

    `after`: the ID of the transfer before the page, for pages that are too far behind for a number.
    """

    outcome: Literal["unmatched", "dismissed", "fee", "written_off"] = "unmatched"
    side: Literal["", "credit", "debit"] = ""
    search: Annotated[str, Meta(max_length=100)] = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    sort: TransferSort = "oldest"
    after: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether any filter beside the result is set."""
        return bool(self.side or self.search or self.since or self.until)

    def matching(self) -> tuple[TransferFilter, dict[str, Translatable]]:
        """The filter, and the errors of its fields."""
        days = {"from": self.since, "to": self.until}
        read = {name: parse_date(text) for name, text in days.items() if text}
        field_errors: dict[str, Translatable] = {name: messages.A_DAY for name, day in read.items() if day is None}
        search = self.search.strip() or None
        return TransferFilter(self.outcome, self.side or None, read.get("from"), read.get("to"), search), field_errors

    def after_of(self, row: FoundTransfer) -> str:
        """A page behind the numbered ones begins after the ID of a transfer."""
        return str(row.id)


class ShownRow(Struct, frozen=True):
    """A transfer of the list, how many days ago it was booked, and the most likely payment if it waits for one."""

    transfer: FoundTransfer
    age_days: int
    suggestion: Suggestion | None


@OPERATIONS.add("GET", "/operator/transfers", guard=operator_page)
async def transfers(request: Request, caller: Operator, query: TransfersQuery) -> Response:
    """Transfers that are unmatched, or about which operators decided so, with their sums."""
    services = request.services
    matching, field_errors = query.matching()
    found = [] if field_errors else await _page_of(services, matching, query)
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "transfers",
        FormState(422 if field_errors else 200, field_errors=field_errors),
        here="transfers",
        rows=[row async for row in _shown(services, rows, request.now)],
        sums=[] if field_errors else await transfers_store.sum_transfers(services.db, services.catalogue, matching),
        query=query,
        file="/operator/transfers.csv?" + urlencode(filters_of(query)),
        page_links=query.links(rows, more=more),
        announced=[]
        if query.is_filtered or query.outcome != "unmatched" or query.page > 1
        else await imports_store.list_announced(
            services.db, request.now - ANNOUNCED_FOR, ANNOUNCED_SHOWN, services.catalogue
        ),
    )


@OPERATIONS.add("GET", "/operator/transfers.csv", guard=operator_page)
async def transfers_csv(request: Request, query: TransfersQuery) -> Response:
    """All transfers of the list as CSV."""
    matching, field_errors = query.matching()
    if field_errors:
        raise ValidationFailed(*(FieldError(name, "invalid_value", message) for name, message in field_errors.items()))
    parts = _as_csv(request.services, matching, query.sort, request.now)
    return download(file_name(f"transfers-{query.outcome}", request.now), parts)


async def _page_of(services: Services, matching: TransferFilter, query: TransfersQuery) -> list[FoundTransfer]:
    after = parse_id(query.after) if query.page > query.deepest else None
    if query.page > query.deepest and after is None:
        return []
    offset = 0 if after is not None else query.offset
    return await transfers_store.list_transfers(
        services.db, services.catalogue, matching, query.sort, query.fetch, after=after, offset=offset
    )


async def _shown(services: Services, found: Sequence[FoundTransfer], now: datetime) -> AsyncIterator[ShownRow]:
    today = now.astimezone(UTC).date()
    for transfer in found:
        may_pay = transfer.outcome == "unmatched" and transfer.side == "credit"
        suggested = await suggest(services.db, transfer, services.catalogue) if may_pay else []
        yield ShownRow(transfer, _age_days(transfer.booked_on, today), suggested[0] if suggested else None)


def _age_days(booked_on: date, today: date) -> int:
    return max((today - booked_on).days, 0)


async def _as_csv(services: Services, matching: TransferFilter, sort: TransferSort, now: datetime) -> AsyncIterator[str]:
    """A header line, and a line for each transfer. Amounts are negative if they were sent."""
    yield lines([HEADER])
    after: UUID | None = None
    while found := await transfers_store.list_transfers(
        services.db, services.catalogue, matching, sort, ROWS_AT_ONCE, after=after
    ):
        yield lines([_cells(row) async for row in _shown(services, found, now)])
        after = found[-1].id


def _cells(row: ShownRow) -> list[str]:
    transfer, suggestion = row.transfer, row.suggestion
    counterparty = (transfer.other_name, transfer.other_iban, transfer.other_bic)
    return [
        *(str(transfer.id), str(transfer.booked_on), str(row.age_days), transfer.side, transfer.currency, transfer.signed),
        *(text or "" for text in (*counterparty, transfer.words, transfer.end_to_end_id)),
        *(transfer.outcome, transfer.reason, transfer.reference or ""),
        *(("", "") if suggestion is None else (suggestion.payment.reference, " ".join(suggestion.reasons))),
    ]
