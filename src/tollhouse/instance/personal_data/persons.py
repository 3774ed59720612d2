"""Export and erasure of what is kept about an email address, and the repetition of erasures after a restore.

Only columns without a digest are erased, so that a check still finds every change by hand. Bookkeeping, events and the audit
log stay; the result of an erasure names them with the reason.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.approvals.record import record_action
from tollhouse.accounts.identity import address_changes_store, users_store
from tollhouse.accounts.identity.credentials import email_errors, email_key
from tollhouse.accounts.mail import store as mail_store
from tollhouse.accounts.mail.model import mail_name
from tollhouse.accounts.notifications import store as notifications_store
from tollhouse.accounts.team import store as team_store
from tollhouse.http.services import Services, Work
from tollhouse.instance.personal_data import store
from tollhouse.instance.personal_data.model import ErasureRecord, KeptData, PersonErasure, PersonExport
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import IDEMPOTENCY_KEPT_S
from tollhouse.kernel.text import Text
from tollhouse.pages.dashboard import saved_filters_store
from tollhouse.payments.customers import store as customers_store
from tollhouse.payments.links import store as links_store
from tollhouse.payments.receipts.store import withhold
from tollhouse.platform.database.pool import Row
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.settings.config import Settings

BOOKKEEPING = "Bookkeeping is kept for its legal period (GDPR Art. 17(3)(b)). It no longer has the address."
AUDIT_LOG = "The audit log proves who did what (GDPR Art. 17(3)(e)). Lines are deleted after {days} days."
EVENTS = "Bodies can contain the address. They are deleted {days} days after the end of their month."
RESPONSES = "Stored responses of the API can contain the address. They are deleted after {days} days."
FORMER = "Addresses that an account had say who could sign in, and undo a change of them. They are deleted with the account."
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
JSON_COLUMNS = {"changed", "evidence", "facts", "line_items", "metadata", "tax_lines"}
NOT_INCLUDED = {
    "password, two-factor authentication, backup codes": "Secrets. Only hashes and encrypted values are kept.",
    "idempotency_keys": "Copies of API responses, which can contain the address. They are deleted after 30 days.",
    "webhook_events": "`data` lists the events. Their bodies repeat the payment link and the payments.",
    "texts": "Texts of merchants other than of the payment links above are not searched for the address.",
}
ACCOUNTS = (
    "Names and account numbers of who paid are not included: somebody else may have paid. After you have checked that they "
    "are the person's, export with --with-accounts."
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

    Raises `OperatorRefusedError` for operators and for the only owner of a merchant, and `DryRun` at the end of one.
    """
    ensure_email(email, context)
    address, key = email.strip(), email_key(email)
    if await store.is_operator(work.tx, key):
        raise OperatorRefusedError(
            Text("%(email)s is the address of an operator. The history of operators' actions keeps it.", email=address)
        )
    user = await store.lock_user(work.tx, key)
    if user is not None and user["only_owner_of"] is not None:
        raise OperatorRefusedError(
            Text(
                "%(email)s is the only owner of merchant %(id)s. Erase the merchant: tollhouse merchant erase.",
                email=address,
                id=user["only_owner_of"],
            )
        )
    found = await collect(work, address, with_accounts=True)
    kept = list_kept(found, work.services.settings)
    # An account that has the address now is deleted, with those that it had before.
    former = [] if user is not None else [one for one in found.get("address_changes", ()) if "confirmed_at" in one]
    if former:
        kept.append(KeptData("address_changes", len(former), FORMER))
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
    await withhold(tx, links, work.now)
    deleted = {
        "customer_notes": await customers_store.delete_of_address(tx, address),
        "saved_filters": await saved_filters_store.delete_containing(tx, address),
        "mails": await mail_store.delete_of_person(tx, address, user_id),
        "invitations": await team_store.delete_of_address(tx, email_key(address)),
        "address_changes": await address_changes_store.delete_of_address(tx, email_key(address)),
    }
    if user_id is not None:
        deleted["saved_filters"] += await saved_filters_store.delete_of_user(tx, user_id)
        deleted["notifications"] = await notifications_store.delete_of_user(tx, user_id, mail_name(address))
        for table, number in (await users_store.delete_user(tx, user_id)).items():
            deleted[table] = deleted.get(table, 0) + number
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
                email_key(address)
                for address in addresses
                if not missing.isdisjoint(mac.hex() for mac in services.keys.macs(mac_message(address)))
            }
    return sorted(found)


async def export_person(
    work: Work, email: str, context: OperatorContext, *, with_accounts: bool = False
) -> tuple[OperatorAction, PersonExport]:
    """Collect what is kept about an address, and record the export.

    `with_accounts` adds the accounts that paid the customer's links or got their refunds. Raises `OperatorRefusedError`.
    """
    ensure_email(email, context)
    data = await collect(work, email, with_accounts=with_accounts)
    action = await record_request(work, "person_exported", email, context)
    not_included = NOT_INCLUDED if with_accounts else NOT_INCLUDED | {"accounts": ACCOUNTS}
    return action, PersonExport(email.strip(), stamp(context.at), data, not_included)


async def collect(work: Work, email: str, *, with_accounts: bool = False) -> dict[str, list[dict[str, Any]]]:
    """The rows about an address by table, without tables that have none. Amounts are decimal numbers."""
    tx, address = work.tx, email.strip()
    users, links = await store.find_users(tx, email_key(email)), await store.find_links(tx, address)
    found: dict[str, list[Row]] = {"users": users, "payment_links": links}
    of_links = {**store.OF_LINKS, **store.ACCOUNTS_OF_LINKS} if with_accounts else store.OF_LINKS
    parts: list[tuple[Mapping[str, str], object]] = [(store.OF_USER, user["id"]) for user in users]
    parts.append((store.OF_ADDRESS, address))
    if links:
        parts.append((of_links, [link["id"] for link in links]))
    for statements, value in parts:
        for table, rows in (await store.list_of(tx, statements, value)).items():
            found[table] = [*found.get(table, []), *rows]
    catalogue = work.services.catalogue
    return {table: [_fields(row, catalogue) for row in rows] for table, rows in found.items() if rows}


def ensure_email(email: str, context: OperatorContext) -> None:
    """Raise `OperatorRefusedError` if this is no address, or if the reason, which stays, contains it."""
    if email_errors("email", email.strip()):
        raise OperatorRefusedError(Text("%(email)s is not an email address.", email=email))
    if email_key(email) in (context.reason or "").casefold():
        raise OperatorRefusedError("The reason is kept. Write it without the address.")


async def record_request(
    work: Work, action: Literal["person_exported", "person_erased"], email: str, context: OperatorContext
) -> OperatorAction:
    """Record the action in the history, and the keyed hash of the address as its subject."""
    request_id = new_id()
    kind = "export" if action == "person_exported" else "erasure"
    await store.insert_request(work.tx, request_id, kind, email_mac(work.services.keys, email), context.at)
    return await record_action(work, context, action, None, subject_id=request_id)


def email_mac(keys: KeyRing, email: str) -> bytes:
    """The keyed hash of an address under the first key of the ring."""
    return keys.mac(mac_message(email))


def mac_message(email: str) -> bytes:
    """What the keyed hash of an address is made of."""
    return f"data subject\0{email_key(email)}".encode()


def _fields(row: Row, catalogue: Catalogue) -> dict[str, Any]:
    """The columns of a row that have a value."""
    return dict(_field(name, value, row, catalogue) for name, value in row.items() if value is not None)


def _field(name: str, value: Any, row: Row, catalogue: Catalogue) -> tuple[str, Any]:
    if name.endswith("_minor"):
        return name.removesuffix("_minor"), catalogue.format_amount(value, row["currency"])
    if name in JSON_COLUMNS:
        return name, msgspec.json.decode(value)
    if isinstance(value, datetime):
        return name, stamp(value)
    return name, str(value) if isinstance(value, UUID) else value
