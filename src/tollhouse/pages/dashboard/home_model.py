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
    """`?period=&from=&to=&currency=&done=` of the home page. The days apply to a custom period. Empty: the default."""

    period: PeriodName = "30d"
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    currency: str = ""
    done: str = ""


class MethodVolume(Struct, frozen=True):
    """Payments of one method and currency in one part of a period."""

    currency: str
    method_id: str
    part: int
    payments: int
    gross_minor: int


class CurrencyCount(Struct, frozen=True):
    """A count and amount in one currency and one part of a period."""

    currency: str
    part: int
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
        parts = max((one.part for one in (*self.volumes, *self.failed, *self.refunded)), default=0)
        return sum_up(self.by_part(currency, parts))

    def by_part(self, currency: str, parts: int) -> list["CurrencyTotals"]:
        """The totals of one currency in each part of the span."""
        found = [CurrencyTotals() for _ in range(parts)]
        for volume in self.volumes:
            if volume.currency == currency:
                found[volume.part - 1] += CurrencyTotals(volume.gross_minor, volume.payments)
        for failed in self.failed:
            if failed.currency == currency:
                found[failed.part - 1] += CurrencyTotals(failed=failed.count)
        for refunded in self.refunded:
            if refunded.currency == currency:
                found[refunded.part - 1] += CurrencyTotals(refunds=refunded.count, refunded_minor=refunded.minor)
        return found

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

    def __add__(self, other: "CurrencyTotals") -> "CurrencyTotals":
        """The totals of both spans."""
        return CurrencyTotals(
            self.gross_minor + other.gross_minor,
            self.succeeded + other.succeeded,
            self.failed + other.failed,
            self.refunds + other.refunds,
            self.refunded_minor + other.refunded_minor,
        )

    @property
    def success_tenths(self) -> int | None:
        """How many of the payments that ended have succeeded, in tenths of a percent, rounded half up; None of nothing."""
        ended = self.succeeded + self.failed
        return (self.succeeded * 2000 + ended) // (2 * ended) if ended else None

    @property
    def average_minor(self) -> int | None:
        """The average successful payment, rounded half up; None of nothing."""
        return (self.gross_minor * 2 + self.succeeded) // (2 * self.succeeded) if self.succeeded else None


def sum_up(totals: "Sequence[CurrencyTotals]") -> CurrencyTotals:
    """The totals of all spans."""
    return sum(totals, CurrencyTotals())


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
    live_project: bool

    @property
    def is_complete(self) -> bool:
        """Whether the required steps are done."""
        return self.project and self.payment and self.webhook and self.api_key


def compare(now: int | None, before: int | None) -> Change:
    """Compare two figures of at least zero; None has no figure."""
    if not before:
        return Change("new" if now else "same")
    percent = format_percent((now or 0) - before, before)
    if percent in {"0.0", "-0.0"}:
        return Change("same")
    return _change(percent)


def compare_tenths(now: int | None, before: int | None) -> Change:
    """Compare two percentages in tenths. The change is in percentage points."""
    if now is None or before is None:
        return Change("same" if now is None else "new")
    return Change("same") if now == before else _change(format_tenths(now - before))


def format_tenths(tenths: int) -> str:
    """A percentage in tenths as `96.3`."""
    return format_percent(tenths, 1000)


def _change(written: str) -> Change:
    down = written.startswith("-")
    return Change("down", written.replace("-", "\N{MINUS SIGN}")) if down else Change("up", f"+{written}")
