"""What is measured: lists, pages, reports and searches, each with a name and the address of the dashboard or the API."""

from typing import Any, Literal

from msgspec import Struct
from tests.http.test_weight import MINE

Surface = Literal["dashboard", "api", "operator"]


class Endpoint(Struct, frozen=True):
    """An address. Words in braces are those of a history: `{payment_id}`, `{at}`, `{n}`."""

    surface: Surface
    path: str

    def of(self, found: dict[str, Any]) -> str:
        """The address for one merchant."""
        return self.path.format_map(found)


FILTERED = (
    *(f"/test/payments?{one}" for one in ("status=failed", "status=expired", "status=succeeded", "status=refund_required")),
    *(f"/test/payments?{one}" for one in ("reference=order-{n}", "reference=nobody", "currency=USD", "currency=GBP")),
    *(f"/test/payments?{one}" for one in ("method_id=sandbox:USD", "from=2020-01-01&to=2020-02-01", "amount=12.34")),
    "/test/payments?before={payment_id}",
    "/test/payments/{payment_id}",
    *(f"/test/payment-links?{one}" for one in ("status=canceled", "status=completed", "reference=nobody", "currency=USD")),
    *(f"/test/payment-links?{one}" for one in ("reference=order-{n}", "amount=12.34", "before={link_id}")),
    "/test/payment-links/{link_id}",
    *(f"/test/ledger?{one}" for one in ("type=refund", "type=chargeback_reversal", "currency=USD", "account=reserved")),
    "/test/ledger?before={entry_id}",
    "/test/ledger/export",
    "/test/payments/export",
    "/test/payments/export?status=refund_required",
    *(f"/test/home?period={period}" for period in ("7d", "quarter")),
    *(f"/test/reports?period={one}" for one in ("7d", "quarter&group_by=month", "quarter")),
    *(f"/test/reports/methods?period={period}" for period in ("7d", "quarter")),
    *(f"/test/developers/events?{one}" for one in ("status=failed", "type=payment.failed", "page={deep}")),
    *(f"/test/developers/requests?{one}" for one in ("status=5xx", "path=nowhere")),
    "/settings/audit?what=money",
    *(f"/test/customers?{one}" for one in ("search=c9", "search=nobody", "kind=external_id", "before={link_id}")),
    "/test/customers/{link_id}",
    *(f"/settings/connected-apps?{one}" for one in ("status=active", "status=ended", "page=40")),
    "/settings/connected-apps/{link_id}",
    *("/developers/apps/{client_id}", "/developers/apps/{client_id}/connections"),
    *(f"/api/v2/merchant/{one}" for one in ("oauth/grants?limit=20", "oauth/clients?limit=20", "customers?mode=test")),
    *(f"/test/withdrawals?{one}" for one in ("status=failed", "status=canceled", "currency=USD", "page={deep}")),
    *(f"/test/withdrawals?{one}" for one in ("reference=withdrawal-{n}", "reference=nobody", "amount=12.34")),
    *(f"/test/conversions?{one}" for one in ("currency=USD", "page={deep}")),
    *(f"/test/balance-payments?{one}" for one in ("status=released", "page={deep}")),
    *(f"/test/fulfillments?{one}" for one in ("status=failed", "product_id=nothing", "page={deep}")),
    "/test/fulfillments/statistics",
    "/test/fulfillments/statistics?group_by=product",
    *(f"/test/search?q={one}" for one in ("order-{n}", "nobody", "c{n}@example.com", "12.34", "withdrawal-{n}")),
)
REDIRECTED = ("/stepup", "/settings/security/")
LISTS = {
    "transactions": ("status=failed", "status=refund_required", "currency=USD", "currency=GBP", "external_id=order-{n}",
                     "external_id=nobody", "method_id=sandbox:USD", "payment_link_id={link_id}"),
    "payment-links": ("status=canceled", "status=expired", "currency=USD", "external_id=order-{n}", "external_id=nobody"),
    "ledger": ("type=chargeback_reversal", "type=refund", "currency=USD", "account=reserved",
               "source_type=refund", "source_id={payment_id}"),
    "refunds": ("status=failed", "currency=USD", "external_id=refund-{n}", "external_id=nobody",
                "transaction_id={payment_id}"),
    "withdrawals": ("status=failed", "currency=USD", "method_id=sandbox:USD", "external_id=nobody"),
    "conversions": ("currency=USD", "currency=JPY", "external_id=nobody"),
    "balance-payments": ("status=released", "currency=USD", "external_id=nobody"),
    "fulfillments": ("status=failed", "currency=USD", "product_id=nothing", "external_id=nobody"),
    "webhook-events": ("status=failed", "type=payment.failed", "resource_id={payment_id}"),
}  # fmt: skip
"""Each list of the API with its filters; also its first page and page 90 of 20 rows, and what follows it by cursor."""
REPORTS = (
    "/balances",
    "/reports/financial-summary?from={month}&to={today}",
    "/reports/financial-summary?from={year}&to={today}&group_by=month",
    "/fulfillments/statistics?from={year}&to={today}",
)
OPERATOR = (
    "/operator",
    "/operator/merchants",
    "/operator/merchants?search=nobody",
    *(f"/operator/withdrawals?status={one}" for one in ("pending_review", "completed", "failed")),
    "/operator/refunds",
    "/operator/deliveries",
    "/operator/books",
    "/operator/books?on={day}",
    "/operator/books.csv",
    "/operator/books/bank",
    "/operator/books/journal",
    "/operator/books/positions",
)


def endpoints() -> list[Endpoint]:
    """All of them, once."""
    pages = dict.fromkeys((*(path for path in MINE if not path.startswith(REDIRECTED)), *FILTERED))
    lists = [
        f"/{name}{query}"
        for name, filters in LISTS.items()
        for query in ("", "?limit=20&page=90", "?cursor={cursor_of[" + name + "]}", *(f"?{one}" for one in filters))
    ]
    return [
        *(Endpoint("dashboard", path) for path in pages),
        *(Endpoint("api", path) for path in (*lists, *REPORTS)),
        *(Endpoint("operator", path) for path in OPERATOR),
    ]
