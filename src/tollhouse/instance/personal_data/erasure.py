"""Erasure of a person by email address, and its repetition after a restore.

Only columns without a digest are erased, so that a check still finds every change by hand. Bookkeeping, events and the audit
log stay; the result of an erasure names them with the reason.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity import users_store
from tollhouse.accounts.identity.credentials import email_key
from tollhouse.accounts.mail import store as mail_store
from tollhouse.http.services import Services, Work
from tollhouse.instance.personal_data import store
from tollhouse.instance.personal_data.export import collect, ensure_email, mac_message, record_request
from tollhouse.instance.personal_data.model import ErasureRecord, KeptData, PersonErasure
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.limits import IDEMPOTENCY_KEPT_S
from tollhouse.kernel.text import Text
from tollhouse.pages.dashboard import saved_filters_store
from tollhouse.payments.links import store as links_store
from tollhouse.payments.receipts import mails_store
from tollhouse.platform.settings.config import Settings

BOOKKEEPING = "Bookkeeping is kept for its legal period (GDPR Art. 17(3)(b)). It no longer has the address."
AUDIT_LOG = "The audit log proves who did what (GDPR Art. 17(3)(e)). Lines are deleted after {days} days."
EVENTS = "Bodies can contain the address. They are deleted {days} days after the end of their month."
RESPONSES = "Stored responses of the API can contain the address. They are deleted after {days} days."
ALWAYS = "They are kept without an end: {setting} is 0."
KEPT_OF_LINKS = (
    "payment_links",
    "transactions",
    "receipts",
    "refunds",
    "chargebacks",
    "rail_observations",
    "bank_entry_parts",
)


class DryRun(Exception):
    """The result of an erasure, raised to roll it back."""

    def __init__(self, erasure: PersonErasure) -> None:
        super().__init__(erasure)
        self.erasure = erasure


async def erase_person(
    work: Work, email: str, context: OperatorContext, *, dry_run: bool = False
) -> tuple[OperatorAction | None, PersonErasure]:
    """Erase what may be erased about an address, and record it. The action is None if there is nothing to erase.

    Raises `OperatorRefusedError` for operators and for the only user of a merchant, and `DryRun` at the end of one.
    """
    ensure_email(email, context)
    address, key = email.strip(), email_key(email)
    if await store.is_operator(work.tx, key):
        raise OperatorRefusedError(
            Text("%(email)s is the address of an operator. The history of operators' actions keeps it.", email=address)
        )
    user = await store.lock_user(work.tx, key)
    if user is not None and user["is_only"]:
        raise OperatorRefusedError(
            Text(
                "%(email)s is the only user of merchant %(id)s. Erase the merchant: tollhouse merchant erase.",
                email=address,
                id=user["merchant_id"],
            )
        )
    kept = list_kept(await collect(work, address, with_accounts=True), work.services.settings)
    erasure = await _erase(work, address, None if user is None else user["id"], kept)
    if dry_run:
        raise DryRun(erasure)
    if erasure.is_empty:
        return None, erasure
    return await record_request(work, "person_erased", address, context), erasure


async def plan(services: Services, email: str, context: OperatorContext) -> PersonErasure:
    """What an erasure would do now: it is made and rolled back. Raises as `erase_person` does."""
    try:
        await services.transact(lambda work: erase_person(work, email, context, dry_run=True), context.at, OPERATOR)
    except DryRun as done:
        return done.erasure
    raise AssertionError("a dry run raises its result")


async def _erase(work: Work, address: str, user_id: UUID | None, kept: list[KeptData]) -> PersonErasure:
    """Delete and clear.

    A receipt that is being sent is waited for before the emails are deleted: so none is enqueued afterwards.
    """
    tx = work.tx
    links = await links_store.clear_customer(tx, address)
    await mails_store.withhold(tx, links, work.now)
    deleted = {
        "saved_filters": await saved_filters_store.delete_containing(tx, address),
        "mails": await mail_store.delete_of_person(tx, address, user_id),
    }
    if user_id is not None:
        deleted["saved_filters"] += await saved_filters_store.delete_of_user(tx, user_id)
        deleted |= await users_store.delete_user(tx, user_id)
    cleared = {"payment_links.customer_email": len(links)}
    return PersonErasure(_without_zeros(deleted), _without_zeros(cleared), kept)


def _without_zeros(counts: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}


def list_kept(found: Mapping[str, Sequence[dict[str, Any]]], settings: Settings) -> list[KeptData]:
    """What stays of the data about an address, with the reason."""
    kept = [KeptData(table, len(found[table]), BOOKKEEPING) for table in KEPT_OF_LINKS if table in found]
    if "audit_lines" in found:
        days = settings.audit_kept_days
        reason = AUDIT_LOG.format(days=days) if days else ALWAYS.format(setting="TOLLHOUSE_AUDIT_KEPT_DAYS")
        kept.append(KeptData("audit_lines", len(found["audit_lines"]), reason))
    if "webhook_events" in found:
        days = settings.webhook_events_kept_days
        reason = EVENTS.format(days=days) if days else ALWAYS.format(setting="TOLLHOUSE_WEBHOOK_EVENTS_KEPT_DAYS")
        kept.append(KeptData("webhook_events", len(found["webhook_events"]), reason))
    if links := found.get("payment_links"):
        kept.append(
            KeptData("idempotency_keys", len(links), RESPONSES.format(days=timedelta(seconds=IDEMPOTENCY_KEPT_S).days))
        )
    return kept


async def list_erasures(services: Services) -> list[ErasureRecord]:
    """Every recorded erasure, oldest first."""
    rows = await store.list_erasures(services.db)
    return [ErasureRecord(row["id"], stamp(row["at"]), row["email_mac"].hex()) for row in rows]


async def find_to_repeat(services: Services, recorded: Sequence[ErasureRecord]) -> list[str]:
    """The addresses in this database whose erasure is among these records, but not in the database."""
    known = {row["id"] for row in await store.list_erasures(services.db)}
    missing = {record.email_mac for record in recorded if record.id not in known}
    found: set[str] = set()
    if missing:
        async for addresses in store.iterate_addresses(services.db):
            found |= {
                email_key(one)
                for one in addresses
                if not missing.isdisjoint(mac.hex() for mac in services.keys.macs(mac_message(one)))
            }
    return sorted(found)
