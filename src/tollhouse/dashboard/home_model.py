"""The query, totals and figures of the home page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.charts import format_percent
from tollhouse.kernel.periods import PeriodName

METHODS_SHOWN = 6
"""Methods shown one by one; the last one sums up the others if there are more."""


class HomeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?period=&from=&to=&currency=` of the home page. The days apply to a custom period. Empty: the default."""

    period: PeriodName = "30d"
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    currency: str = ""


class MethodVolume(Struct, frozen=True):
    """Payments of one method and currency in one part of a period."""

    currency: str
    method_id: str
    part: int
    payments: int
    gross_minor: int


class CurrencyCount(Struct, frozen=True):
    """A count and amount in one currency."""

    currency: str
    count: int
    minor: int = 0


class PeriodTotals(Struct, frozen=True):
    """The totals of a span."""

    volumes: Sequence[MethodVolume] = ()
    failed: Sequence[CurrencyCount] = ()
    refunded: Sequence[CurrencyCount] = ()

    def currencies(self) -> set[str]:
        """The currencies with any activity."""
        return {one.currency for one in (*self.volumes, *self.failed, *self.refunded)}

    def for_currency(self, currency: str) -> "CurrencyTotals":
        """The totals of one currency."""
        volumes = [one for one in self.volumes if one.currency == currency]
        failed = [one for one in self.failed if one.currency == currency]
        refunded = [one for one in self.refunded if one.currency == currency]
        return CurrencyTotals(
            gross_minor=sum(one.gross_minor for one in volumes),
            succeeded=sum(one.payments for one in volumes),
            failed=sum(one.count for one in failed),
            refunds=sum(one.count for one in refunded),
            refunded_minor=sum(one.minor for one in refunded),
        )

    def by_part(self, currency: str, parts: int) -> list["CurrencyTotals"]:
        """The volume of one currency in each part of the span."""
        gross, succeeded = [0] * parts, [0] * parts
        for one in self.volumes:
            if one.currency == currency:
                gross[one.part - 1] += one.gross_minor
                succeeded[one.part - 1] += one.payments
        return [CurrencyTotals(minor, count) for minor, count in zip(gross, succeeded, strict=True)]

    def by_method(self, currency: str) -> list["MethodTotals"]:
        """The volume of each method, largest first. Methods beyond `METHODS_SHOWN` are combined."""
        sums: dict[str, list[int]] = {}
        for one in self.volumes:
            if one.currency == currency:
                total = sums.setdefault(one.method_id, [0, 0])
                total[0] += one.gross_minor
                total[1] += one.payments
        found = [MethodTotals(method_id, minor, count) for method_id, (minor, count) in sums.items()]
        found.sort(key=lambda one: (-one.gross_minor, one.method_id))
        if len(found) > METHODS_SHOWN:
            rest = found[METHODS_SHOWN - 1 :]
            others = MethodTotals("", sum(one.gross_minor for one in rest), sum(one.payments for one in rest))
            found[METHODS_SHOWN - 1 :] = [others]
        return found


class CurrencyTotals(Struct, frozen=True):
    """The totals of one currency in a span."""

    gross_minor: int = 0
    succeeded: int = 0
    failed: int = 0
    refunds: int = 0
    refunded_minor: int = 0


class MethodTotals(Struct, frozen=True):
    """The volume of one method; an empty id combines all others."""

    method_id: str
    gross_minor: int
    payments: int


class Change(Struct, frozen=True):
    """The change from the previous period; no `percent` if that was zero."""

    direction: Literal["up", "down", "same", "new"]
    percent: str = ""


class LatestPayment(Struct, frozen=True, kw_only=True):
    """A payment in the list of the latest ones."""

    id: UUID
    name: str
    currency: str
    amount_minor: int
    method_id: str
    status: str
    created_at: datetime


class UndeliveredEvents(Struct, frozen=True):
    """Counts of webhook events that failed, are retried, or are held for a signing secret."""

    failed: int
    retrying: int
    held: int


class SetupProgress(Struct, frozen=True):
    """Which setup steps are done."""

    project: bool
    payment: bool
    webhook: bool
    api_key: bool
    second_factor: bool
    application: bool

    @property
    def is_complete(self) -> bool:
        """Whether the required steps are done."""
        return self.project and self.payment and self.webhook and self.api_key


def compare(now: int, before: int) -> Change:
    """Compare two figures of at least zero."""
    if before == 0:
        return Change("new" if now else "same")
    percent = format_percent(now - before, before)
    if percent in {"0.0", "-0.0"}:
        return Change("same")
    return Change("up", f"+{percent}") if now > before else Change("down", percent.replace("-", "\N{MINUS SIGN}"))
