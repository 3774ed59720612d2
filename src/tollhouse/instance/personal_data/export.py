"""Export of what is kept about an email address: of a user of the dashboard, of a customer, of an operator."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.approvals.record import record_action
from tollhouse.accounts.identity.credentials import email_errors, email_key
from tollhouse.http.services import Work
from tollhouse.instance.personal_data import store
from tollhouse.instance.personal_data.model import PersonExport
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text
from tollhouse.platform.database.pool import Row
from tollhouse.platform.encryption import KeyRing

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
