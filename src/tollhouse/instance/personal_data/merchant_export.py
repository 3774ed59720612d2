"""Export of everything of a merchant: a ZIP of JSON Lines, one file for each table, from one snapshot."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.accounts.approvals.record import no_merchant, record_action
from tollhouse.http.services import Services, Work
from tollhouse.instance.personal_data import merchant_store
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import store as console_store
from tollhouse.platform import private_files
from tollhouse.platform.database.pool import Tx, connected

SETTINGS = {
    "statement_timeout": "3600s",
    "idle_in_transaction_session_timeout": "0",
    "timezone": "UTC",
    "datestyle": "ISO",
}
"""A large table takes minutes."""
ROWS_AT_ONCE = 1_000
NOT_INCLUDED = {
    "secrets": "API keys, client secrets, tokens, also of checkout pages, passwords, second factors, signing secrets.",
    "webhook_events": "The bodies, which repeat the objects. GET /events returns those that are kept.",
    "requests": "The request log, which is redacted and kept for days.",
    "payer accounts": "Names and account numbers of who paid: they are the platform's bookkeeping.",
}
Show = Callable[[str, int], None]
"""Called with the name of the current file, and its rows so far."""


class ExportContents(Struct, frozen=True):
    """`export.json`: what the file has, rows by table, and what it has not. Amounts are in minor units of their currency."""

    merchant_id: UUID
    exported_at: Timestamp
    amounts: str
    rows: dict[str, int]
    not_included: Mapping[str, str]


async def export_merchant(
    services: Services, merchant_id: UUID, output: Path, context: OperatorContext, show: Show | None = None
) -> tuple[OperatorAction, ExportContents]:
    """Record the export, then write it. Memory does not depend on the number of rows.

    Raises `FileExistsError`, and `SubjectNotFoundError` if there is no such merchant. An incomplete file is deleted.
    """
    with private_files.new(output) as file:
        action = await services.transact(lambda work: _record(work, MerchantId(merchant_id), context), context.at, OPERATOR)
        async with (
            connected(services.settings.database_url or "", settings=SETTINGS) as tx,
            tx.raw.transaction(isolation="repeatable_read", readonly=True),
        ):
            contents = await _write(tx, merchant_id, file, show, exported_at=stamp(context.at))
        return action, contents


async def _record(work: Work, merchant_id: MerchantId, context: OperatorContext) -> OperatorAction:
    if not await console_store.is_merchant(work.tx, merchant_id):
        raise no_merchant(merchant_id)
    return await record_action(work, context, "merchant_exported", merchant_id, subject_id=merchant_id)


async def _write(tx: Tx, merchant_id: UUID, file: IO[bytes], show: Show | None, *, exported_at: Timestamp) -> ExportContents:
    rows: dict[str, int] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, statement in merchant_store.JSON_LINES.items():
            with archive.open(f"{name}.jsonl", "w", force_zip64=True) as lines:
                rows[name] = 0
                async for row in tx.raw.cursor(statement, merchant_id, prefetch=ROWS_AT_ONCE):
                    lines.write(row["line"].encode() + b"\n")
                    rows[name] += 1
                    if show is not None and rows[name] % ROWS_AT_ONCE == 1:
                        show(name, rows[name])
        amounts = "`…_minor`, and the amounts of the ledger, are in minor units of the currency, such as cents."
        contents = ExportContents(merchant_id, exported_at, amounts, rows, NOT_INCLUDED)
        archive.writestr("export.json", msgspec.json.format(msgspec.json.encode(contents)))
    return contents
