"""Events that really happen: an object of the test environment is made and brought to the state that causes the event."""

import argparse
from collections.abc import Callable
from typing import Any

from tollhouse_cli.config import client
from tollhouse_cli.output import show
from tollhouse_sdk import Tollhouse, TollhouseError
from tollhouse_sdk.requests import new_key

PAYMENTS = {
    "payment.succeeded": "succeed",
    "payment.failed": "fail",
    "payment.expired": "expire",
    "payment.refund_required": "late",
    "payment.chargeback": "chargeback",
}
WITHDRAWALS = {"withdrawal.processing": "process", "withdrawal.completed": "complete", "withdrawal.failed": "fail"}


def trigger(options: argparse.Namespace) -> None:
    """Make an event happen."""
    if options.live:
        raise TollhouseError("Events are triggered in the test environment only.")
    makers: dict[str, Callable[[Triggering], Any]] = {
        **{event: lambda one, outcome=outcome: one.payment(outcome) for event, outcome in PAYMENTS.items()},
        **{event: lambda one, outcome=outcome: one.withdrawal(outcome) for event, outcome in WITHDRAWALS.items()},
        "payment.refunded": Triggering.refund,
        "balance.updated": Triggering.fund,
        "conversion.completed": Triggering.conversion,
    }
    with client(options) as tollhouse:
        made = makers[options.event](Triggering(tollhouse, options.amount, options.currency, options.webhook_url))
    show(options, made, f"{options.event}: {made.get('object', 'balance')} {made.get('id', made.get('currency', ''))}")


class Triggering:
    """Makes objects of this amount, whose events go to `webhook_url`."""

    def __init__(self, tollhouse: Tollhouse, amount: str, currency: str, webhook_url: str | None) -> None:
        self._tollhouse = tollhouse
        self._value = {"amount": amount, "currency": currency}
        self._hook = {"webhook_url": webhook_url} if webhook_url else {}

    def payment(self, outcome: str) -> Any:
        """A payment of a new link, with this outcome."""
        link = self._post("/payment-links", {"display_name": "Triggered payment", **self._value, **self._hook})
        return self._post(f"/test/payment-links/{link['id']}/simulate", {"outcome": outcome})

    def refund(self) -> Any:
        """A refund of a new payment."""
        paid = self.payment("succeed")
        refund = self._post(f"/transactions/{paid['id']}/refunds", {})
        return self._post(f"/test/refunds/{refund['id']}/simulate", {"outcome": "succeed"})

    def fund(self) -> Any:
        """Test money in the balance."""
        return self._post("/test/balances/fund", self._value)

    def withdrawal(self, outcome: str) -> Any:
        """A withdrawal with this outcome, of test money."""
        self.fund()
        value = {"method_id": f"sandbox:{self._value['currency']}", "amount": self._value["amount"]}
        made = self._post("/withdrawals", {**value, "receiver": "Test receiver", **self._hook})
        return self._post(f"/test/withdrawals/{made['id']}/simulate", {"outcome": outcome})

    def conversion(self) -> Any:
        """A conversion of test money."""
        self.fund()
        other = "USD" if self._value["currency"] != "USD" else "EUR"
        value = {"from_currency": self._value["currency"], "to_currency": other, "amount": self._value["amount"]}
        return self._post("/conversions", {**value, **self._hook})

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._tollhouse.request("POST", path, body=body, idempotency_key=new_key())
