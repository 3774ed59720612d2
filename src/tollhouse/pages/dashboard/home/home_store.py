"""What the home page shows, and the SQL that reads it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.charts import format_percent
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.periods import PeriodName, Span
from tollhouse.ledger.books.running_totals_store import list_added
from tollhouse.pages.rows import read_row
from tollhouse.platform.database.pool import Pool, Tx

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
        return {totals.currency for totals in (*self.volumes, *self.failed, *self.refunded)}

    def for_currency(self, currency: str) -> "CurrencyTotals":
        """The totals of one currency."""
        parts = max((totals.part for totals in (*self.volumes, *self.failed, *self.refunded)), default=0)
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
        for volume in self.volumes:
            if volume.currency == currency:
                total = sums.setdefault(volume.method_id, [0, 0])
                total[0] += volume.gross_minor
                total[1] += volume.payments
        found = [MethodTotals(method_id, minor, count) for method_id, (minor, count) in sums.items()]
        found.sort(key=lambda method: (-method.gross_minor, method.method_id))
        if len(found) > METHODS_SHOWN:
            rest = found[METHODS_SHOWN - 1 :]
            others = MethodTotals("", sum(method.gross_minor for method in rest), sum(method.payments for method in rest))
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


# Within a quarter hour: from $3 until before $4.
SUCCEEDED = """
    SELECT currency, '' AS type, true AS raised, method_id, sum(credited_minor)::text AS amount, count(*) AS count
    FROM transactions
    WHERE merchant_id = $1 AND mode = $2 AND succeeded_at >= $3 AND succeeded_at < $4
    GROUP BY currency, method_id
"""
FAILED = """
    SELECT currency, '' AS type, true AS raised, '' AS method_id, '0' AS amount, count(*) AS count
    FROM transactions
    WHERE merchant_id = $1 AND mode = $2 AND status = 'failed' AND updated_at >= $3 AND updated_at < $4
    GROUP BY currency
"""
# Refunds of unapplied money do not reduce the merchant's balance.
REFUNDED = """
    SELECT currency, '' AS type, false AS raised, '' AS method_id, sum(amount_minor - unapplied_minor)::text AS amount,
           count(*) AS count
    FROM refunds
    WHERE merchant_id = $1 AND mode = $2 AND status = 'succeeded' AND unapplied_minor < amount_minor
      AND created_at >= $3 AND created_at < $4
    GROUP BY currency
"""
# The newest payments are selected before the join. A pending payment of an ended link counts as expired.
LATEST = """
    SELECT t.id, l.display_name AS name, t.currency, t.amount_minor, t.method_id, t.created_at,
           payment_status_at(t.status, t.received_minor, l.status, l.expires_at, $3::timestamptz + coalesce(
               (SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')) AS status
    FROM (SELECT * FROM transactions WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $4) AS t
    JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = ($1, $2, t.payment_link_id)
    ORDER BY t.created_at DESC, t.id DESC
"""
# Counts stop at $3.
TO_DECIDE = """
    SELECT count(*) FROM (SELECT FROM transactions
    WHERE merchant_id = $1 AND mode = $2 AND status = 'refund_required' LIMIT $3) AS counted
"""
# Counts stop at $4.
UNDELIVERED = """
    SELECT (SELECT count(*) FROM (SELECT FROM webhook_failures
            WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3 LIMIT $4) AS counted) AS failed,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later
            WHERE merchant_id = $1 AND mode = $2 AND NOT held LIMIT $4) AS counted) AS retrying,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later
            WHERE merchant_id = $1 AND mode = $2 AND held LIMIT $4) AS counted) AS held
"""
SETUP = """
    SELECT EXISTS (SELECT FROM projects WHERE merchant_id = $1 AND mode = $2 AND status = 'approved') AS project,
           EXISTS (SELECT FROM transactions
                   WHERE merchant_id = $1 AND mode = $2 AND succeeded_at IS NOT NULL) AS payment,
           EXISTS (SELECT FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'active') AS webhook,
           EXISTS (SELECT FROM api_keys WHERE merchant_id = $1 AND mode = $2 AND revoked_at IS NULL) AS api_key,
           EXISTS (SELECT FROM members m WHERE m.merchant_id = $1 AND m.removed_at IS NULL
                                           AND has_second_factor(m.user_id)) AS second_factor,
           EXISTS (SELECT FROM projects WHERE merchant_id = $1 AND mode = 'live' AND status = 'approved') AS live_project
"""


async def count_period(tx: Tx, env: MerchantEnv, span: Span) -> PeriodTotals:
    """The totals of a span."""
    if not span.starts:
        return PeriodTotals()
    return PeriodTotals(
        [
            MethodVolume(series.currency, series.method_id, part, added.count, added.minor)
            for series, part, added in await list_added(tx, env, "succeeded", span.bounds, SUCCEEDED)
        ],
        [
            CurrencyCount(series.currency, part, added.count)
            for series, part, added in await list_added(tx, env, "failed", span.bounds, FAILED)
        ],
        [
            CurrencyCount(series.currency, part, added.count, added.minor)
            for series, part, added in await list_added(tx, env, "refunded", span.bounds, REFUNDED)
        ],
    )


async def list_latest_payments(tx: Tx, env: MerchantEnv, now: datetime, limit: int) -> list[LatestPayment]:
    """The latest payments with their current status."""
    rows = await tx.fetch(LATEST, env.merchant_id, env.mode, now, limit)
    return [read_row(LatestPayment, row) for row in rows]


async def count_to_decide(db: Pool | Tx, env: MerchantEnv, count_max: int) -> int:
    """Count the payments that wait for a decision of the merchant, up to `count_max`."""
    [row] = await db.fetch(TO_DECIDE, env.merchant_id, env.mode, count_max)
    return row["count"]


async def count_undelivered(tx: Tx, env: MerchantEnv, since: datetime, count_max: int) -> UndeliveredEvents:
    """Count the webhook events that failed since then, are retried, or are held; each up to `count_max`."""
    [row] = await tx.fetch(UNDELIVERED, env.merchant_id, env.mode, since, count_max)
    return read_row(UndeliveredEvents, row)


async def get_setup_progress(tx: Tx, env: MerchantEnv) -> SetupProgress:
    """The setup steps of this environment."""
    [row] = await tx.fetch(SETUP, env.merchant_id, env.mode)
    return read_row(SetupProgress, row)
