"""What there is to take: a merchant of test mode with one of each object, an application that charges it, and operators."""

from typing import Any, NamedTuple
from uuid import uuid4

from tests.cast import Actor, Application, application
from tests.payments.shop import choose, open_link, simulate
from tests.transfers.fulfillments.depot import GEMS
from tests.transfers.withdrawals.steps import TO_NINA
from tollhouse.http.operations import Operation

BALANCES = "balance-payments:read balance-payments:write"
BODIES: dict[str, dict[str, Any]] = {
    "/balance-payments": {"amount": "1.00", "currency": "EUR"},
    "/conversions": {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"},
    "/conversion-rules": {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment"},
    "/fulfillments": GEMS,
    "/proposals": {"operation": "fulfillments", "body": GEMS},
    "/withdrawals": TO_NINA,
    "/withdrawal-batches": {"withdrawals": [TO_NINA]},
    "/withdrawal-recipients": {"method_id": "sandbox:EUR", "receiver": "Nina Nowak", "name": "Nina"},
    "/withdrawal-schedules": {"method_id": "sandbox:EUR", "interval": "daily"},
    "/refunds": {"amount": "1.00"},
    "/balances/fund": {"amount": "1.00", "currency": "EUR"},
    "/clock/advance": {"seconds": 60},
    "/test/fulfillments/{fulfillment_id}/simulate": {"outcome": "complete"},
    "/test/withdrawals/{withdrawal_id}/simulate": {"outcome": "complete"},
    "/simulate": {"outcome": "succeed"},
}
"""Bodies of requests that succeed, by how their paths end."""
FIELDS = {
    "amount": "1.00",
    "reason": "customer_request",
    "key": str(uuid4()),
    "seen": "1",
    "cost": "100",
    "outcome": "succeed",
}
"""What a form has, whichever it is."""


class Scene(NamedTuple):
    """The objects of the merchant, by the parameters of paths; `of` are those of operations that need others."""

    merchant: Actor
    app: Application
    public: Application
    ids: dict[str, str]
    of: dict[str, dict[str, str]]

    def path(self, operation: Operation, mode: str = "test") -> str:
        """The path of the operation on the merchant's objects; what only operators have is not there."""
        ids = {"mode": mode, **self.ids}
        for part, others in self.of.items():
            if part in operation.full_path:
                ids |= others
        parts = operation.full_path.split("/")
        return "/".join(ids.get(part[1:-1], str(uuid4())) if part.startswith("{") else part for part in parts)

    def body(self, operation: Operation) -> dict[str, Any]:
        """A body with which the operation succeeds."""
        nothing: dict[str, Any] = {}
        return next((body for end, body in BODIES.items() if operation.full_path.endswith(end)), nothing)


async def build(merchant: Actor, owner: Actor) -> Scene:
    """Money and one of each object."""
    (await merchant.post("/test/balances/fund", {"currency": "EUR", "amount": "1000.00"})).ok(201)
    paid, late, unpaid = [await open_link(merchant) for _ in range(3)]
    (await choose(paid)).ok(303)
    (await simulate(paid)).ok(303)
    (await choose(late)).ok(303)
    (await simulate(late, "late")).ok(303)
    (await choose(unpaid)).ok(303)
    payments = {
        transaction["payment_link_id"]: transaction["id"]
        for transaction in (await merchant.get("/transactions")).ok().body["transactions"]
    }
    paths = (
        ("refund_id", f"/transactions/{payments[paid['id']]}/refunds", {"amount": "1.00"}),
        ("withdrawal_id", "/withdrawals", TO_NINA),
        ("fulfillment_id", "/fulfillments", GEMS),
        ("proposal_id", "/proposals", {"operation": "fulfillments", "body": GEMS}),
    )
    ids = {name: (await merchant.post(path, body, key=str(uuid4()))).ok(201).body["id"] for name, path, body in paths}
    app, public = await application(owner), await application(owner, "public")
    charged = [await _charge(one, merchant, capture=taken) for one, taken in ((app, False), (app, True), (public, True))]
    ids |= {
        "transaction_id": payments[paid["id"]],
        "link_id": unpaid["id"],
        "token": unpaid["url"].rsplit("/", 1)[1],
        "client_id": app.client_id,
        "payment_id": charged[0],
        "method_id": "sandbox:EUR",
        "product_id": "sandbox:gems",
    }
    of = {"/accept": {"transaction_id": payments[late["id"]]}, "{payment_id}/refund": {"payment_id": charged[1]}}
    return Scene(merchant, app, public, ids, of | {"test/transactions": {"transaction_id": payments[unpaid["id"]]}})


async def _charge(app: Application, merchant: Actor, *, capture: bool) -> str:
    token = (await app.connect(merchant, BALANCES))["access_token"]
    body = {"amount": "10.00", "currency": "EUR", "capture": capture}
    return (await app.api(token, "POST", "/balance-payments", body, str(uuid4()))).ok(201).body["id"]
