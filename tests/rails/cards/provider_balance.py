"""The balance of the card provider and what changed it: written down from the public API reference."""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from aiohttp import web

Answer = Callable[[int, bytes], web.StreamResponse]


class ProviderBalance:
    """The balance transactions, oldest first. `late` are IDs of those that are in the balance and not listed yet."""

    def __init__(self, app: web.Application, answer: Answer) -> None:
        self.transactions: list[dict[str, Any]] = []
        self.per_page, self.fee = 100, 25
        self.livemode = False
        self.late = set[str]()
        self.while_read: Callable[[], object] = lambda: None
        """What happens at the provider while its list is read."""
        self._answer = answer
        app.router.add_get("/v1/balance", self._read)
        app.router.add_get("/v1/balance_transactions", self._list)

    def add(self, category: str, amount: int, source: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        """The balance changes by this amount and its fee."""
        made: dict[str, Any] = {
            "id": f"txn_{uuid4().hex}",
            "object": "balance_transaction",
            "amount": amount,
            "fee": 0,
            "currency": "eur",
            "created": int(time.time()),
            "available_on": int(time.time()) + 2 * 86_400,
            "reporting_category": category,
            "type": category,
            "status": "pending",
            "source": source,
        } | changes
        self.transactions.append(made)
        return made

    def charged(self, intent: dict[str, Any], metadata: dict[str, str]) -> None:
        """A payment has succeeded."""
        source = {"id": f"ch_{uuid4().hex}", "object": "charge", "payment_intent": intent["id"], "metadata": metadata}
        self.add("charge", intent["amount"], source, fee=self.fee, currency=intent["currency"])

    def refunded(self, refund: dict[str, Any], intent_id: str) -> None:
        """A refund has been made."""
        source = {
            "id": refund["id"],
            "object": "refund",
            "payment_intent": intent_id,
            "metadata": refund["metadata"],
        }
        self.add("refund", -refund["amount"], source, currency=refund["currency"])

    def pay_out(self, amount: int, **changes: Any) -> dict[str, Any]:
        """The provider pays out to the operator's bank."""
        return self.add("payout", -amount, {"id": f"po_{uuid4().hex}", "object": "payout"}, **changes)

    @property
    def total(self) -> Counter[str]:
        """What is owed to the operator, by currency."""
        sums = Counter[str]()
        for transaction in self.transactions:
            sums[transaction["currency"]] += transaction["amount"] - transaction["fee"]
        return sums

    async def _read(self, _: web.Request) -> web.StreamResponse:
        available = Counter[str]()
        for transaction in self.transactions:
            if transaction["status"] == "available":
                available[transaction["currency"]] += transaction["amount"] - transaction["fee"]
        amounts = {
            "available": [{"currency": code, "amount": available[code]} for code in self.total],
            "pending": [{"currency": code, "amount": amount - available[code]} for code, amount in self.total.items()],
        }
        return self._answer(200, json.dumps({"object": "balance", "livemode": self.livemode} | amounts).encode())

    async def _list(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        since, until = int(query["created[gte]"]), int(query.get("created[lte]", 2**40))
        assert query["expand[]"] == "data.source"
        found = [
            transaction
            for transaction in reversed(self.transactions)
            if since <= transaction["created"] <= until and transaction["id"] not in self.late
        ]
        if (after := query.get("starting_after")) is not None:
            found = found[[transaction["id"] for transaction in found].index(after) + 1 :]
        page = found[: min(int(query["limit"]), self.per_page)]
        self.while_read()
        return self._answer(200, json.dumps({"object": "list", "data": page, "has_more": len(page) < len(found)}).encode())
