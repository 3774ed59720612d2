"""The part of a form that sets limits: rows by kind, of which those without a currency are left out."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tollhouse.accounts.spending.model import AMOUNTS, LimitKind, LimitRequest, LimitView, limit_errors
from tollhouse.http.forms import Form
from tollhouse.kernel import limits, scopes
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.text import Translatable

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


class LimitRow(NamedTuple):
    """One row: the prefix of its fields, and their values."""

    name: str
    values: Mapping[str, str]


class LimitGroup(NamedTuple):
    """The rows of one kind."""

    kind: LimitKind
    title: str
    rows: list[LimitRow]


class LimitForm(NamedTuple):
    """The limits of a form: as rows to show, as a request, and what is wrong, by field."""

    groups: list[LimitGroup]
    requests: list[LimitRequest]
    errors: dict[str, Translatable]


def of_limits(views: Sequence[LimitView], allowed: Scopes) -> LimitForm:
    """The rows of these limits, and an empty one for each kind that the scopes allow."""
    groups: list[LimitGroup] = []
    number = 0
    for kind, (scope, title) in KINDS.items():
        values = [_values(view) for view in views if view.kind == kind]
        if values or scope in allowed:
            rows = [LimitRow(f"limits.{number + at}", shown) for at, shown in enumerate([*values, {}])]
            groups.append(LimitGroup(kind, title, rows))
            number += len(rows)
    return LimitForm(groups, [], {})


def read(form: Form, catalogue: Catalogue) -> LimitForm:
    """The limits that a form sends. Raises `InvalidRequest`."""
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
    errors: dict[str, Translatable] = {}
    for wrong in limit_errors(requests, catalogue):
        place, _, field = wrong.field.removeprefix("limits.").partition(".")
        errors[f"{names[int(place)]}.{field}" if field else wrong.field] = wrong.message
    return LimitForm([group for group in groups.values() if group.rows], requests, errors)


def currencies(catalogue: Catalogue) -> list[tuple[str, str]]:
    """The options of the currency."""
    return [(code, code) for code in catalogue.currencies]


def _values(view: LimitView) -> Mapping[str, str]:
    return {"currency": view.currency, **{name: getattr(view, name) or "" for name in AMOUNTS}}


ALL_KINDS = scopes.known(scope for scope, _ in KINDS.values())
"""The scopes of every kind."""
