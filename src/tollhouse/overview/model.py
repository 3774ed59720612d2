"""What the home page is asked for, what it counts, and the figures it shows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.charts import tenths_of_percent
from tollhouse.kernel.periods import PeriodName

METHODS_SHOWN = 6
"""As many methods have a piece of the strip of their own; the last one is for all others, where there are more."""


class HomeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?period=&from=&to=&currency=` of the home page. The two days count for a custom period alone. Empty: the usual."""

    period: PeriodName = "30d"
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    currency: str = ""


class Came(Struct, frozen=True):
    """What came in by one method, in one currency, in one part of a period."""

    currency: str
    method_id: str
    part: int
    payments: int
    gross_minor: int


class Count(Struct, frozen=True):
    """How many there were in a currency, and how much of the merchant's money was in them."""

    currency: str
    count: int
    minor: int = 0


class Counted(Struct, frozen=True):
    """Everything that was counted in a span."""

    came: Sequence[Came] = ()
    failed: Sequence[Count] = ()
    refunded: Sequence[Count] = ()

    def currencies(self) -> set[str]:
        """Those in which anything happened."""
        return {one.currency for one in (*self.came, *self.failed, *self.refunded)}

    def of(self, currency: str) -> "Sums":
        """The sums of one currency."""
        came = [one for one in self.came if one.currency == currency]
        failed = [one for one in self.failed if one.currency == currency]
        refunded = [one for one in self.refunded if one.currency == currency]
        return Sums(
            gross_minor=sum(one.gross_minor for one in came),
            succeeded=sum(one.payments for one in came),
            failed=sum(one.count for one in failed),
            refunds=sum(one.count for one in refunded),
            refunded_minor=sum(one.minor for one in refunded),
        )

    def by_part(self, currency: str, parts: int) -> list["Sums"]:
        """What came in by one currency in each of so many parts."""
        gross, succeeded = [0] * parts, [0] * parts
        for one in self.came:
            if one.currency == currency:
                gross[one.part - 1] += one.gross_minor
                succeeded[one.part - 1] += one.payments
        return [Sums(minor, count) for minor, count in zip(gross, succeeded, strict=True)]

    def by_method(self, currency: str) -> list["MethodSum"]:
        """What came in by each method of a currency, most first. Those that are too many to show are put together."""
        sums: dict[str, list[int]] = {}
        for one in self.came:
            if one.currency == currency:
                kept = sums.setdefault(one.method_id, [0, 0])
                kept[0] += one.gross_minor
                kept[1] += one.payments
        found = [MethodSum(method_id, minor, count) for method_id, (minor, count) in sums.items()]
        found.sort(key=lambda one: (-one.gross_minor, one.method_id))
        if len(found) > METHODS_SHOWN:
            rest = found[METHODS_SHOWN - 1 :]
            others = MethodSum("", sum(one.gross_minor for one in rest), sum(one.payments for one in rest))
            found[METHODS_SHOWN - 1 :] = [others]
        return found


class Sums(Struct, frozen=True):
    """The sums of one currency in a span."""

    gross_minor: int = 0
    succeeded: int = 0
    failed: int = 0
    refunds: int = 0
    refunded_minor: int = 0


class MethodSum(Struct, frozen=True):
    """What came in by one method. No id: by all those that are not shown one by one."""

    method_id: str
    gross_minor: int
    payments: int


class Change(Struct, frozen=True):
    """How a figure compares with the period before; no `percent`, where there was nothing before to compare with."""

    direction: Literal["up", "down", "same", "new"]
    percent: str = ""


class Payment(Struct, frozen=True, kw_only=True):
    """One of the latest payments."""

    id: UUID
    name: str
    currency: str
    amount_minor: int
    method_id: str
    status: str
    created_at: datetime


class Deliveries(Struct, frozen=True):
    """Webhook events that did not reach their receiver: for good, not yet, or for want of a signing secret."""

    failed: int
    retrying: int
    held: int


class Setup(Struct, frozen=True):
    """What a merchant that begins has done already."""

    project: bool
    test_payment: bool
    webhook: bool
    api_key: bool
    second_factor: bool
    application: bool

    @property
    def done(self) -> bool:
        """Nothing is left that has to be. An application is for those who build something for other merchants."""
        return self.project and self.test_payment and self.webhook and self.api_key


def change_of(now: int, before: int) -> Change:
    """How `now` compares with `before`, two figures of at least zero."""
    if before == 0:
        return Change("new" if now else "same")
    percent = tenths_of_percent(now - before, before)
    if percent in {"0.0", "-0.0"}:
        return Change("same")
    return Change("up", f"+{percent}") if now > before else Change("down", percent.replace("-", "\N{MINUS SIGN}"))
