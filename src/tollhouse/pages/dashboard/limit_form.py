"""The part of a form that sets limits: rows by kind, recipients, the day of the end, and whether only to propose.

Rows without a currency are left out.
"""

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import NamedTuple
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tollhouse.accounts.spending.model import (
    AMOUNTS,
    NO_LIMITS,
    LimitKind,
    LimitRequest,
    Limits,
    LimitView,
    limits_errors,
    limits_of,
)
from tollhouse.http.forms import Form, by_field
from tollhouse.http.lists import all_rows
from tollhouse.kernel import limits, messages, scopes
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import midnight, parse_date
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import InvalidRequest, ValidationFailed
from tollhouse.kernel.limits import RECIPIENTS_MAX
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate.recipients_store import RecipientsQuery

KINDS: Mapping[LimitKind, tuple[str, str]] = {
    "withdrawals": ("withdrawals:write", "Withdrawals"),
    "refunds": ("payments:write", "Refunds"),
    "balance_payments": ("balance-payments:write", "Payments from the balance"),
    "conversions": ("conversions:write", "Conversions"),
    "fulfillments": ("fulfillments:write", "Fulfillments"),
}
"""The scope that each kind needs, and its title."""
TITLES: Mapping[str, str] = {kind: title for kind, (_, title) in KINDS.items()}
KIND_BY_NAME: Mapping[str, LimitKind] = {kind: kind for kind in KINDS}
ROWS_MAX = limits.LIMITS_MAX + len(KINDS)
ANY_AND_SOME = "You selected recipients: choose “Only selected recipients”, or select none."


class LimitRow(NamedTuple):
    """One row: the prefix of its fields, and their values."""

    name: str
    values: Mapping[str, str]


class LimitGroup(NamedTuple):
    """The rows of one kind."""

    kind: LimitKind
    title: str
    rows: list[LimitRow]


class LimitForm(Struct, frozen=True, kw_only=True):
    """The limits of a form: as fields to show, what they say, and what is wrong, by field.

    `recipients` is `UNSET` where the page does not ask for them.
    """

    groups: list[LimitGroup]
    requests: list[LimitRequest] = []
    recipients: list[UUID] | UnsetType | None = UNSET
    expires_on: str = ""
    expires_at: datetime | None = None
    proposals_only: bool = False
    errors: dict[str, Translatable] = {}

    @property
    def shows_recipients(self) -> bool:
        """Whether the page asks for recipients."""
        return not isinstance(self.recipients, UnsetType)

    @property
    def is_used(self) -> bool:
        """Whether anything is limited or wrong, so that the fields are shown open."""
        return bool(self.requests or self.errors or self.expires_on or self.proposals_only or self.selected is not None)

    @property
    def selected(self) -> list[UUID] | None:
        """The recipients; None for any, also where the page does not ask for them."""
        return self.recipients if isinstance(self.recipients, list) else None

    def limits(self, catalogue: Catalogue) -> Limits:
        """The limits of a form without errors."""
        return limits_of(self.requests, self.selected, self.expires_at, catalogue)

    def refused(self, error: ValidationFailed) -> "LimitForm":
        """The form with what is wrong by the database: recipients that are not saved any more."""
        wrong = {name: message for name, message in by_field(error).items() if name == "recipients"}
        return replace(self, errors=self.errors | wrong)


class LimitOptions(NamedTuple):
    """What can be chosen: currencies, and the saved recipients of the environment by ID."""

    currencies: list[tuple[str, str]]
    recipients: list[tuple[UUID, str]]


def of_limits(
    now: Limits, allowed: Scopes, catalogue: Catalogue, zone: tzinfo, *, proposals_only: bool = False
) -> LimitForm:
    """The fields of these limits, and an empty row for each kind that the scopes allow."""
    views = now.views(catalogue)
    groups: list[LimitGroup] = []
    number = 0
    for kind, (scope, title) in KINDS.items():
        values = [_values(view) for view in views if view.kind == kind]
        if values or scope in allowed:
            rows = [LimitRow(f"limits.{number + at}", shown) for at, shown in enumerate([*values, {}])]
            groups.append(LimitGroup(kind, title, rows))
            number += len(rows)
    recipients = UNSET if now.recipients is None and KINDS["withdrawals"][0] not in allowed else now.recipients
    return LimitForm(
        groups=groups,
        requests=[LimitRequest(kind=limit.kind, currency=limit.currency) for limit in now.limits],
        recipients=list(recipients) if isinstance(recipients, tuple) else recipients,
        expires_on=_day(now.expires_at, zone),
        proposals_only=proposals_only,
    )


def read(form: Form, catalogue: Catalogue, zone: tzinfo, before: Limits = NO_LIMITS) -> LimitForm:
    """The limits that a form sends. A day that is that of the limits before is their very time. Raises `InvalidRequest`."""
    groups, requests, names = _rows(form)
    errors: dict[str, Translatable] = {}
    recipients = _recipients(form, errors)
    for wrong in limits_errors(requests, recipients or None, catalogue):
        place, _, field = wrong.field.removeprefix("limits.").partition(".")
        errors[f"{names[int(place)]}.{field}" if field else wrong.field] = wrong.message
    expires_on = form.one("expires_on") or ""
    day = parse_date(expires_on)
    if expires_on and day is None:
        errors["expires_on"] = messages.A_DAY
    expires_at = None if day is None else midnight(day, zone)
    return LimitForm(
        groups=groups,
        requests=requests,
        recipients=recipients,
        expires_on=expires_on,
        expires_at=before.expires_at if expires_on == _day(before.expires_at, zone) else expires_at,
        proposals_only=form.one("proposals_only") is not None,
        errors=errors,
    )


async def options(db: Pool, env: MerchantEnv, catalogue: Catalogue) -> LimitOptions:
    """What can be chosen in this environment."""
    saved = await recipients_store.list_recipients(db, env, RecipientsQuery(), all_rows(RECIPIENTS_MAX))
    codes = [(code, code) for code in catalogue.currencies]
    return LimitOptions(codes, [(recipient.id, recipient.label(catalogue)) for recipient in saved])


def _rows(form: Form) -> tuple[list[LimitGroup], list[LimitRequest], list[str]]:
    """The rows of a form; the limits in them, and the prefixes of the fields of each."""
    groups = {kind: LimitGroup(kind, title, []) for kind, (_, title) in KINDS.items()}
    requests: list[LimitRequest] = []
    names: list[str] = []
    for number in range(ROWS_MAX):
        name = f"limits.{number}"
        kind = form.one(f"{name}.kind")
        if kind is None:
            break
        known = KIND_BY_NAME.get(kind)
        if known is None:
            raise InvalidRequest("A limit has an unknown kind.")
        values = {field: (form.one(f"{name}.{field}") or "").strip() for field in ("currency", *AMOUNTS)}
        groups[known].rows.append(LimitRow(name, values))
        if any(values.values()):
            amounts = {field: values[field] or None for field in AMOUNTS}
            requests.append(LimitRequest(kind=known, currency=values["currency"], **amounts))
            names.append(name)
    return [group for group in groups.values() if group.rows], requests, names


def _recipients(form: Form, errors: dict[str, Translatable]) -> list[UUID] | UnsetType | None:
    """The recipients that are selected; None for any, and `UNSET` where the form has none to select."""
    if (which := form.one("recipients")) is None:
        return UNSET
    try:
        selected = [UUID(value) for value in form.all("recipient")]
    except ValueError:
        raise InvalidRequest("A recipient is not an ID.") from None
    if which == "any" and selected:
        errors["recipients"] = ANY_AND_SOME
        return selected
    return None if which == "any" else selected


def _day(moment: datetime | None, zone: tzinfo) -> str:
    return "" if moment is None else moment.astimezone(zone).date().isoformat()


def _values(view: LimitView) -> dict[str, str]:
    return {"currency": view.currency, **{name: getattr(view, name) or "" for name in AMOUNTS}}


ALL_KINDS = scopes.known(scope for scope, _ in KINDS.values())
"""The scopes of every kind."""
