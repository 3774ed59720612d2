"""Who sends the requests of the contract tests, and what of theirs is really there: credentials, ids, good bodies."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

import msgspec

from tests.accounts.merchants.authenticator import elsewhere
from tests.cast import CALLBACK, PASSWORD, Actor, Application, application, every_scope, sign_up
from tests.contract.people import People
from tests.payments.shop import choose, open_link, pay
from tests.running import Service
from tollhouse.accounts.settings.model import NewSettings

T = TypeVar("T")
Json = dict[str, Any]
SETTINGS = tuple(field.encode_name for field in msgspec.structs.fields(NewSettings))
EURO_TO_DOLLAR: Json = {"from_currency": "EUR", "to_currency": "USD", "amount": "0.10"}
PROPOSAL: Json = {"operation": "conversions", "body": EURO_TO_DOLLAR}
NEVER_LONG_AGO = "UPDATE sessions SET proved_at = now() + interval '1 day'"
"""However long the tests take, everybody has just signed in."""
WEBHOOK = "http://127.0.0.1:9999/hook"


OF_DORA: dict[str, Callable[[], Json]] = {
    "add_customer_note": lambda: {"note": "Wants invoices by post."},
    "read_all_notifications": lambda: {"mode": "test"},
    "save_notification_preferences": lambda: {"preferences": [{"kind": "dispute_opened", "mail": "daily"}]},
    "request_address": lambda: {"email": f"{uuid4()}@example.com"},
}
"""Bodies about what is hers alone."""


class Standing:
    """A person at the dashboard, a merchant with an API key and a token, and an application with its credentials.

    The dashboard is Dora's, the credentials are Alice's and Bob's: whatever Dora ends, the others' requests go on.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._stack = AsyncExitStack()
        self._people = People(service, self._stack)

    def move_in(self) -> None:
        """Sign up, connect, sell."""
        self._thread.start()
        self._do(self._move_in())

    def move_out(self) -> None:
        """Leave."""
        self._do(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cookie(self, operation_id: str) -> str:
        """The session of who sends this operation: of one whom it changes, or Dora's."""
        return _cookie(self._do(self._people.sender(operation_id)) or self._dora)

    @property
    def api_key(self) -> str:
        """Alice's API key, of the test environment."""
        return self._alice.keys["test None"]

    @property
    def credentials(self) -> Json:
        """Bob's application, as a form authenticates it."""
        return {"client_id": self._app.client_id, "client_secret": self._app.client_secret}

    @property
    def basic(self) -> tuple[str, str]:
        """Bob's application, as HTTP Basic authenticates it."""
        return quote(self._app.client_id), quote(self._app.client_secret or "")

    def path_values(self, operation_id: str) -> Json:
        """Ids that are there, for an operation to have a try at."""
        spent: dict[str, Callable[[], Json]] = {
            "revoke_client": lambda: {"client_id": self._do(application(self._dora)).client_id},
            "revoke_api_key": lambda: {"api_key_id": self._do(self._spare_key())},
            "cancel_link": lambda: {"link_id": self._do(open_link(self._alice))["id"]},
            "redeliver_event": lambda: self._do(self._switch_delivery_on()),
            "withdraw_grant": lambda: {"grant_id": self._given},
            "change_grant": lambda: {"grant_id": self._kept},
            "rotate_webhook_secret": lambda: {"client_id": self._announcing},
            "change_project": lambda: {"project_id": self._dora_project},
            "simulate_link": lambda: {"link_id": self._do(open_link(self._alice))["id"]},
            "simulate_transaction": lambda: {"transaction_id": self._do(self._chosen())},
            "request_refund": lambda: {"transaction_id": self._do(self._paid())},
            "simulate_refund": lambda: {"refund_id": self._do(self._refunded())},
            "cancel_fulfillment": lambda: {"fulfillment_id": self._do(self._ordered())},
            "simulate_fulfillment": lambda: {"fulfillment_id": self._do(self._ordered())},
            "read_owned_balance_payment": lambda: self._do(self._reserve()),
            "capture_owned_balance_payment": lambda: self._do(self._reserve()),
            "release_owned_balance_payment": lambda: self._do(self._reserve()),
            "refund_owned_balance_payment": lambda: self._do(self._reserve(capture=True)),
            "cancel_withdrawal": lambda: {"withdrawal_id": self._do(self._withdrawn())},
            "simulate_withdrawal": lambda: {"withdrawal_id": self._do(self._withdrawn())},
            "read_recipient": lambda: {"recipient_id": self._do(self._saved_recipient())},
            "delete_recipient": lambda: {"recipient_id": self._do(self._saved_recipient())},
            "make_rule": lambda: self._do(self._without_rules()),
            "change_rule": lambda: {"rule_id": self._do(self._ruled())},
            "read_rule": lambda: {"rule_id": self._do(self._ruled())},
            "end_rule": lambda: {"rule_id": self._do(self._ruled())},
            "read_proposal": lambda: {"proposal_id": self._do(self._proposed())},
            "cancel_proposal": lambda: {"proposal_id": self._do(self._proposed())},
            "approve_proposal": lambda: {"proposal_id": self._do(self._proposed_to_dora())},
            "reject_proposal": lambda: {"proposal_id": self._do(self._proposed_to_dora())},
            "delete_customer_note": lambda: {"note_id": self._do(self._noted())},
            "add_customer_note": lambda: self._do(self._without_notes()),
        }
        ids = self._ids | self._do(self._people.path_values(operation_id))
        return ids | (spent[operation_id]() if operation_id in spent else {})

    def good_body(self, operation_id: str, path_values: Json) -> Json | None:
        """A body that is accepted; None where there is nothing to say."""
        make: Callable[[], Json] | None = {
            "register_client": lambda: self._settings,
            "save_client": lambda: self._settings | {"version": self._version(path_values)},
            "pause_or_resume_client": lambda: {"enabled": True, "version": self._version(path_values)},
            "rotate_client_secret": lambda: {"revoke_grants": False, "version": self._version(path_values)},
            "rotate_webhook_secret": lambda: {"version": self._version(path_values)},
            "change_grant": lambda: {"scopes": ["account:read"]},
            "make_api_key": lambda: {"name": "Till", "mode": "test", "scopes": ["payments:read"]},
            "sign_in": lambda: {"email": self._dora.email, "password": PASSWORD},
            "generate_secret": lambda: {"mode": "test"},
            "activate_secret": lambda: {"mode": "test"},
            "open_link": lambda: {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"},
            "save_configuration": lambda: {"url": WEBHOOK, "event_types": ["payment.succeeded"], "enabled": True},
            "send_test_event": lambda: {"url": WEBHOOK},
            "open_project": lambda: {"name": "Coffee", "mode": "test"},
            "change_project": lambda: {"name": "Coffee and tea"},
            "save_settings": self._payment_settings,
            "request_refund": lambda: {"amount": "0.20"},
            "simulate_link": lambda: {"outcome": "succeed"},
            "simulate_transaction": lambda: {"outcome": "succeed"},
            "simulate_refund": lambda: {"outcome": "succeed"},
            "order_fulfillment": lambda: {"product_id": "sandbox:gems", "quantity": 1, "recipient": {"player_id": "p"}},
            "simulate_fulfillment": lambda: {"outcome": "complete"},
            "make_balance_payment": lambda: self._penny,
            "capture_balance_payment": lambda: {"amount": "0.01"},
            "refund_balance_payment": lambda: {"amount": "0.01"},
            "capture_owned_balance_payment": lambda: {"amount": "0.01"},
            "quote_withdrawal": lambda: {"method_id": "sandbox:EUR", "amount": "0.10"},
            "request_withdrawal": lambda: {"method_id": "sandbox:EUR", "amount": "0.10", "receiver": "Nina"},
            "simulate_withdrawal": lambda: {"outcome": "complete"},
            "quote_conversion": lambda: EURO_TO_DOLLAR,
            "convert": lambda: EURO_TO_DOLLAR,
            "make_rule": lambda: {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment"},
            "change_rule": lambda: {
                "from_currency": "EUR",
                "to_currency": "GBP",
                "trigger": "on_threshold",
                "threshold": "5.00",
                "version": 1,
            },
            "propose": lambda: PROPOSAL,
            "fund": lambda: {"currency": "EUR", "amount": "1.00"},
            "advance_clock": lambda: {"seconds": 1},
            "sign_up": lambda: {"email": f"{uuid4()}@example.com", "password": PASSWORD, "business_name": "Erin's Eggs"},
            **self._protocol_bodies(),
            **OF_DORA,
        }.get(operation_id)
        return make() if make else self._do(self._people.body(operation_id))

    def _protocol_bodies(self) -> dict[str, Callable[[], Json]]:
        return {
            "give_back": lambda: {"token": self._connected()["access_token"], **self.credentials},
            "introspect": lambda: {"token": self.token, **self.credentials},
            "push": lambda: self.authorize_query() | self.credentials,
        }

    def code_form(self) -> Json:
        """The form of an exchange that succeeds."""
        code = self._do(self._app.code(self._alice, "account:read offline_access"))
        sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
        return {**sent, "code_verifier": self._app.verifier, **self.credentials}

    def refresh_form(self) -> Json:
        """The form of a refresh that succeeds."""
        return {"grant_type": "refresh_token", "refresh_token": self._connected()["refresh_token"], **self.credentials}

    def authorize_query(self) -> Json:
        """The parameters of an authorize call that succeeds."""
        return self._app.authorize_query("account:read offline_access")

    async def _move_in(self) -> None:
        come = self._stack.enter_async_context
        self._dora: Actor = await come(sign_up(self.service, "dora", "Dora's Desk"))
        self._alice: Actor = await come(sign_up(self.service, "alice", "Alice's Coffee"))
        bob: Actor = await come(sign_up(self.service, "bob", "Bob's Books"))
        self._app: Application = await application(bob)
        scopes = await every_scope(bob)
        self.token: str = (await self._app.connect(self._alice, " ".join(scopes)))["access_token"]
        await self._alice.key()
        await self._sell()
        await self._connect_dora()
        await self._furnish_dora()
        await self._people.move_in()
        await self.service.sql(NEVER_LONG_AGO)
        self._settings: Json = {
            "name": "Northwind Ledger",
            "client_type": "confidential",
            "redirect_uris": [CALLBACK],
            "scopes": scopes,
        }

    async def _sell(self) -> None:
        """Something of everything that a merchant has."""
        link = await open_link(self._alice)
        await pay(link)
        await self._switch_delivery_on()
        event = (await self._alice.post("/webhook/test", {"url": WEBHOOK})).ok(202).body
        self._ids: Json = {
            "link_id": link["id"],
            "event_id": event["id"],
            "transaction_id": await self._first("transactions"),
            "entry_id": await self._first("ledger"),
            "project_id": await self._first("projects"),
            "refund_id": await self._refunded(),
            "payment_id": (await self._reserve())["payment_id"],
            "withdrawal_id": await self._withdrawn(),
            "conversion_id": await self._converted(),
            "fulfillment_id": await self._ordered(),
            "code": "EUR",
        }

    async def _reserve(self, *, capture: bool = False) -> Json:
        """Money of Alice's that is reserved for an application of Dora's, which nobody ends, or that it has captured."""
        if not hasattr(self, "_till"):
            self._till = await application(self._dora)
            await self._till.connect(self._alice, "balance-payments:write")
            (await self._alice.post("/test/balances/fund", {"currency": "EUR", "amount": "50.00"})).ok(201)
        reserved = await self._alice.post("/balance-payments", self._penny | {"capture": capture}, key=str(uuid4()))
        return {"client_id": self._till.client_id, "payment_id": reserved.ok(201).body["id"]}

    async def _ordered(self) -> str:
        gem = {"product_id": "sandbox:gems", "quantity": 1, "recipient": {"player_id": "p"}}
        return (await self._alice.post("/fulfillments", gem, key=str(uuid4()))).ok(201).body["id"]

    @property
    def _penny(self) -> Json:
        return {"amount": "0.01", "currency": "EUR", "oauth_client_id": self._till.client_id}

    async def _first(self, listed: str) -> str:
        return (await self._alice.get(f"/{listed}")).ok().body[listed][0]["id"]

    async def _connect_dora(self) -> None:
        """A customer of Dora's, an application of hers that Alice is connected to, and a grant that she has given."""
        await open_link(self._dora, customer_email="anna@example.com")
        own = await application(self._dora)
        await own.connect(self._alice, "account:read")
        self._announcing = (await application(self._dora, connection_webhook_url="https://127.0.0.1:9999/told")).client_id
        await self._app.connect(self._dora, "account:read")
        await self._app.connect(self._dora, "account:read")
        shown = (await self._dora.dashboard("GET", f"/oauth/clients/{own.client_id}/connections")).ok().body
        grants = (await self._dora.dashboard("GET", "/oauth/grants")).ok().body["grants"]
        self._given, self._kept = grants[0]["grant_id"], grants[1]["grant_id"]
        opened = await self._dora.dashboard("POST", "/projects", {"name": "Coffee", "mode": "test"})
        self._dora_project: str = opened.ok(201).body["id"]
        self._ids |= {"client_id": own.client_id, "grant_id": shown["connections"][0]["grant_id"]}

    async def _furnish_dora(self) -> None:
        """What is hers by now, and a session at another browser."""
        async with elsewhere(self._dora) as other:
            await other.sign_in()
        customers, notifications, sessions = [
            (await self._dora.dashboard("GET", path)).ok().body[path.split("?")[0][1:]]
            for path in ("/customers?mode=test", "/notifications?mode=test", "/sessions")
        ]
        [there] = [session for session in sessions if not session["is_current"]]
        self._ids |= {
            "customer_id": customers[0]["id"],
            "notification_id": notifications[0]["id"],
            "session_id": there["session_id"],
        }

    async def _without_notes(self) -> Json:
        """A customer has only so many."""
        await self._dora.sql("DELETE FROM customer_notes WHERE merchant_id = $1::uuid", self._dora.merchant_id)
        return {}

    async def _noted(self) -> str:
        await self._without_notes()
        notes = f"/customers/{self._ids['customer_id']}/notes"
        return (await self._dora.dashboard("POST", notes, {"note": "Called."})).ok(201).body["id"]

    async def _spare_key(self) -> str:
        made = await self._dora.dashboard("POST", "/api-keys", {"name": "Spare", "mode": "test"})
        return made.ok(201).body["api_key_id"]

    async def _switch_delivery_on(self) -> Json:
        (await self._alice.call("PUT", "/webhook", {"url": WEBHOOK, "event_types": ["payment.succeeded"]})).ok()
        return {}

    async def _chosen(self) -> str:
        link = await open_link(self._alice)
        (await choose(link)).ok(303)
        return await self._first("transactions")

    async def _paid(self) -> str:
        link = await open_link(self._alice)
        paid = await self._alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})
        return paid.ok().body["id"]

    async def _refunded(self) -> str:
        refunds = f"/transactions/{await self._paid()}/refunds"
        return (await self._alice.post(refunds, {"amount": "0.20"}, key=str(uuid4()))).ok(201).body["id"]

    async def _withdrawn(self) -> str:
        await self._paid()
        await self._alice.sql("DELETE FROM withdrawal_settings WHERE merchant_id = $1::uuid", self._alice.merchant_id)
        asked = {"method_id": "sandbox:EUR", "amount": "0.10", "receiver": "Nina"}
        return (await self._alice.post("/withdrawals", asked, key=str(uuid4()))).ok(201).body["id"]

    async def _saved_recipient(self) -> str:
        new = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": f"Nina {uuid4()}"}
        return (await self._alice.post("/withdrawal-recipients", new)).ok(201).body["id"]

    async def _converted(self) -> str:
        await self._paid()
        return (await self._alice.post("/conversions", EURO_TO_DOLLAR, key=str(uuid4()))).ok(201).body["id"]

    async def _proposed(self) -> str:
        """The only one that waits: a key has only so many that do."""
        await self._alice.sql("DELETE FROM proposals WHERE merchant_id = $1::uuid", self._alice.merchant_id)
        return (await self._alice.post("/proposals", PROPOSAL, key=str(uuid4()))).ok(201).body["id"]

    async def _proposed_to_dora(self) -> str:
        """What Dora may decide about."""
        return (await self._dora.post("/proposals", PROPOSAL, key=str(uuid4()))).ok(201).body["id"]

    async def _without_rules(self) -> Json:
        """One rule converts from a currency: whoever was there goes."""
        for rule in (await self._alice.get("/conversion-rules")).ok().body["conversion_rules"]:
            (await self._alice.call("DELETE", f"/conversion-rules/{rule['id']}")).ok()
        return {}

    async def _ruled(self) -> str:
        await self._without_rules()
        new = {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment"}
        return (await self._alice.post("/conversion-rules", new)).ok(201).body["id"]

    def _payment_settings(self) -> Json:
        shown = self._do(self._alice.get("/settings")).ok().body
        return {name: shown[name] for name in SETTINGS}

    def _connected(self) -> Json:
        return self._do(self._app.connect(self._alice, "account:read offline_access"))

    def _version(self, path_values: Json) -> int:
        shown = self._do(self._dora.dashboard("GET", f"/oauth/clients/{path_values['client_id']}"))
        return shown.body["client"]["version"] if shown.status == 200 else 1

    def _do(self, action: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(action, self._loop).result(30)


def _cookie(actor: Actor) -> str:
    return "; ".join(f"{cookie.key}={cookie.value}" for cookie in actor.http.cookie_jar)
