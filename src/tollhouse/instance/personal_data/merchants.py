"""Export and erasure of a merchant: it is closed and its people are erased at once, then the addresses of its customers.

The merchant has to be suspended before, so that nothing begins meanwhile. The books stay.
"""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.approvals.record import no_merchant, record_action
from tollhouse.accounts.environments import settings_store as environments_store
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.identity import members_store, users_store
from tollhouse.accounts.identity import store as api_keys_store
from tollhouse.accounts.mail import store as mail_store
from tollhouse.accounts.merchants import store as business_store
from tollhouse.accounts.notifications import store as notifications_store
from tollhouse.accounts.team import store as team_store
from tollhouse.http.services import Services, Work
from tollhouse.instance.personal_data import merchant_store as store
from tollhouse.instance.personal_data.model import MerchantErasure
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.text import Text
from tollhouse.oauth import clients, reports_store
from tollhouse.pages.console import store as console_store
from tollhouse.pages.dashboard import saved_filters_store
from tollhouse.payments.customers import store as customers_store
from tollhouse.payments.links import store as links_store
from tollhouse.platform import private_files
from tollhouse.platform.database.pool import Tx, connected
from tollhouse.transfers.gate import recipients_store
from tollhouse.webhooks.events import environments_store as webhooks_store

LINKS_AT_ONCE = 1_000
EXPORT_SETTINGS = {
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


async def erase_merchant(
    services: Services, merchant_id: UUID, context: OperatorContext
) -> tuple[OperatorAction | None, MerchantErasure]:
    """Close and erase a merchant. The action is None if it was closed before: then an interrupted erasure is completed.

    Raises `OperatorRefusedError` if something must end first.
    """
    action, erasure = await services.transact(
        lambda work: close_merchant(work, MerchantId(merchant_id), context), context.at, OPERATOR
    )
    cleared = 0
    while number := await links_store.clear_customers_of(services.db, merchant_id, LINKS_AT_ONCE):
        cleared += number
    return action, MerchantErasure(erasure, cleared)


async def ensure_erasable(work: Work, merchant_id: MerchantId) -> bool:
    """Lock the merchant. Returns whether it is closed already. Raises `OperatorRefusedError` with what must end first."""
    merchant = await store.lock(work.tx, merchant_id)
    if merchant is None:
        raise no_merchant(merchant_id)
    if merchant["closed_at"] is not None:
        return True
    if merchant["suspended_at"] is None:
        raise OperatorRefusedError(
            Text("Suspend merchant %(id)s first, so that nothing begins meanwhile: merchants suspend.", id=merchant_id)
        )
    late_days = PaymentSettings().late_monitoring_days
    if obstacles := await store.list_obstacles(work.tx, merchant_id, work.now, late_days):
        listed = ", ".join(f"{obstacle.name}: {obstacle.rows}" for obstacle in obstacles)
        raise OperatorRefusedError(
            Text("Merchant %(id)s cannot be erased yet. In live mode there are: %(listed)s.", id=merchant_id, listed=listed)
        )
    return False


async def close_merchant(
    work: Work, merchant_id: MerchantId, context: OperatorContext
) -> tuple[OperatorAction | None, dict[str, int]]:
    """Close a merchant and delete its people. Returns the action, None if it was closed before, and the deleted rows."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason to erase a merchant.")
    if await ensure_erasable(work, merchant_id):
        return None, {}
    # Nothing below this line may refuse.
    tx, deleted = work.tx, {"mails": 0, "saved_filters": 0}
    for user in await store.list_users(tx, merchant_id):
        if not user["only_here"]:
            await members_store.delete(tx, merchant_id, user["id"])
            continue
        deleted["mails"] += await mail_store.delete_of_person(tx, user["email"], user["id"])
        deleted["saved_filters"] += await saved_filters_store.delete_of_user(tx, user["id"])
        for table, number in (await users_store.delete_user(tx, user["id"])).items():
            deleted[table] = deleted.get(table, 0) + number
    deleted["notifications"] = await notifications_store.delete_of_merchant(tx, merchant_id)
    await api_keys_store.revoke_api_keys(tx, merchant_id, work.now)
    await clients.close_owner(work, merchant_id)
    ended = await users_store.revoke_grants(tx, merchant_id, "merchant_closed", work.now)
    await work.services.connection_webhooks.announce(work, "connection.ended", ended, "merchant_closed")
    deleted["invitations"] = await team_store.delete_of_merchant(tx, merchant_id)
    deleted["withdrawal_recipients"] = await recipients_store.delete_of_merchant(tx, merchant_id)
    deleted["customer_notes"] = await customers_store.delete_of_merchant(tx, merchant_id)
    deleted["application_reports"] = await reports_store.delete_of_merchant(tx, merchant_id)
    await webhooks_store.disable_all(tx, merchant_id, work.now)
    await business_store.close_merchant(tx, merchant_id, work.now)
    # Approved projects are changed without review only if their merchant is closed.
    deleted["logos"] = await environments_store.erase(tx, merchant_id, work.now)
    action = await record_action(work, context, "merchant_erased", merchant_id, subject_id=merchant_id)
    return action, {table: number for table, number in deleted.items() if number}


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
        action = await services.transact(
            lambda work: _record_export(work, MerchantId(merchant_id), context), context.at, OPERATOR
        )
        async with (
            connected(services.settings.database_url or "", settings=EXPORT_SETTINGS) as tx,
            tx.raw.transaction(isolation="repeatable_read", readonly=True),
        ):
            contents = await _write_export(tx, merchant_id, file, show, exported_at=stamp(context.at))
        return action, contents


async def _record_export(work: Work, merchant_id: MerchantId, context: OperatorContext) -> OperatorAction:
    if not await console_store.is_merchant(work.tx, merchant_id):
        raise no_merchant(merchant_id)
    return await record_action(work, context, "merchant_exported", merchant_id, subject_id=merchant_id)


async def _write_export(
    tx: Tx, merchant_id: UUID, file: IO[bytes], show: Show | None, *, exported_at: Timestamp
) -> ExportContents:
    rows: dict[str, int] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, statement in store.JSON_LINES.items():
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
