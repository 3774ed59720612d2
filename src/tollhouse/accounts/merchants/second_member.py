"""From which amount on money needs a second member to leave, and who counts as one.

With an amount in any currency, what is withdrawn in a currency without one always needs a second member: otherwise money
would be converted first. The first amounts are set at once. To add, change or remove one after that, a second member
confirms within seven days. The gate asks for the second member (`transfers.gate`), the database for both.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.mail.model import mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.merchants import second_member_store as store
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.examples import example
from tollhouse.kernel.roles import ROLES, may
from tollhouse.platform.database.pool import Row, Tx

CONFIRMED_WITHIN = timedelta(days=7)
MOVES_MONEY = [role for role in ROLES if may(role, "money", "live")]


class SecondMemberAmount(Struct, frozen=True, forbid_unknown_fields=True):
    """The amount above which money needs a second member, in one currency."""

    currency: str
    amount: Annotated[str, example("1000.00")]
    """Above this, alone or with what else leaves within 24 hours, a second member approves."""


class SecondMemberChange(Struct, frozen=True, kw_only=True):
    """A change of such an amount that a second member has to confirm."""

    currency: str
    amount: Annotated[str | None, example("5000.00")]
    """The new amount; null for none."""
    requested_by: UUID
    """User who asked for it."""
    requested_at: Timestamp
    """When it was requested."""
    expires_at: Timestamp
    """Until when it can be confirmed."""


class SecondMemberConfirmation(Struct, frozen=True, forbid_unknown_fields=True):
    """The change to confirm, as it was shown."""

    currency: str
    amount: Annotated[str | None, example("5000.00")]
    """The new amount; null for none."""


class NoSecondMember(ApiError):
    """409: nobody else could approve."""

    code, status = "no_second_member", 409
    message = "No other member may move money yet: invite one as finance, administrator or owner first."


class NotSecondMember(ApiError):
    """409: this person is not the second member for it."""

    code, status = "not_second_member", 409
    message = (
        "A second member has to approve this: not who asked for it, and nobody who became a member or got the role in the "
        "last 72 hours."
    )


def amounts_of(found: list[Row], catalogue: Catalogue) -> list[SecondMemberAmount]:
    """The amounts in force."""
    return [
        SecondMemberAmount(row["currency"], catalogue.format_amount(row["above_minor"], row["currency"]))
        for row in found
        if row["above_minor"] is not None
    ]


def changes_of(found: list[Row], catalogue: Catalogue) -> list[SecondMemberChange]:
    """The changes that wait."""
    return [
        SecondMemberChange(
            currency=row["currency"],
            amount=_amount(catalogue, row["currency"], row["change_above_minor"]),
            requested_by=row["by"],
            requested_at=stamp(row["at"]),
            expires_at=stamp(row["at"] + CONFIRMED_WITHIN),
        )
        for row in found
        if row["by"] is not None
    ]


async def change(work: Work, person: Person, wanted: Mapping[str, int]) -> None:
    """Set amounts where no currency has one, else request each change; the settings are locked. Raises `NoSecondMember`."""
    merchant_id = person.merchant_id
    found = {row["currency"]: row for row in await store.rules(work.tx, merchant_id, work.now)}
    present = {code: row["above_minor"] for code, row in found.items() if row["above_minor"] is not None}
    if wanted and not await store.count_others(work.tx, merchant_id, person.user_id, MOVES_MONEY):
        raise NoSecondMember
    # Nothing below this line may refuse.
    if not present:
        for currency, above_minor in sorted(wanted.items()):
            await store.set_amount(work.tx, merchant_id, currency, above_minor, person.user_id, work.now)
        return
    for currency in sorted(wanted.keys() | found.keys()):
        row, new, old = found.get(currency), wanted.get(currency), present.get(currency)
        waits = row is not None and row["by"] is not None
        if new == old and waits:
            await store.withdraw_request(work.tx, merchant_id, currency)
        elif new != old and not (row is not None and waits and row["change_above_minor"] == new):
            await store.request(work.tx, merchant_id, currency, new, person.user_id, work.now)
            await _notify_of_change(work, person, currency, old, new)


async def confirm(work: Work, person: Person, shown: SecondMemberConfirmation) -> None:
    """Confirm the change that was shown; the settings are locked. Raises `NotFound` and `NotSecondMember`."""
    merchant_id, catalogue = person.merchant_id, work.services.catalogue
    rows = [
        row for row in await store.rules(work.tx, merchant_id, work.now) if row["currency"] == shown.currency and row["by"]
    ]
    if not rows or _amount(catalogue, shown.currency, rows[0]["change_above_minor"]) != shown.amount:
        raise NotFound
    [row] = rows
    await ensure_second(work.tx, person, row["by"], work.now)
    # Nothing below this line may refuse.
    await store.confirm(work.tx, merchant_id, shown.currency, person.user_id, work.now)
    before = {"second_member_above": _priced(catalogue, shown.currency, row["above_minor"])}
    after = {"second_member_above": _priced(catalogue, shown.currency, row["change_above_minor"])}
    await record.event(work, merchant_id, "settings.second_member_confirmed", changed=changes(before, after))


async def ensure_second(tx: Tx, person: Person, asked_by: UUID | None, now: datetime) -> None:
    """Raises `NotSecondMember` for who asked, and for who was let in a moment ago."""
    counts = await store.counts(tx, person.merchant_id, person.user_id, now)
    if person.user_id == asked_by or not counts:
        raise NotSecondMember


async def _notify_of_change(work: Work, person: Person, currency: str, old: int | None, new: int | None) -> None:
    catalogue = work.services.catalogue
    facts = NoticeFacts(
        name=mail_name(person.email),
        by="" if old is None else catalogue.priced(old, currency),
        reason="" if new is None else catalogue.priced(new, currency),
    )
    env, occasion = MerchantEnv(person.merchant_id, "live"), f"{currency} {stamp(work.now)}"
    await notify_members(work, "second_member_rule", Occurrence(env, occasion, facts, mailed=person.user_id))


def _amount(catalogue: Catalogue, currency: str, minor: int | None) -> str | None:
    return None if minor is None else catalogue.format_amount(minor, currency)


def _priced(catalogue: Catalogue, currency: str, minor: int | None) -> str | None:
    return None if minor is None else catalogue.priced(minor, currency)
