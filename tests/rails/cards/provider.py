"""A card provider: localstripe in a process of its own, behind a front with what localstripe does not have.

The front answers by the public API reference, written down here by hand: Checkout Sessions, whose hosted page tests "open"
by `pay`, idempotency keys, disputes (`provider_disputes`), and its balance (`provider_balance`). Everything else is
localstripe's. It also plays the network: it loses answers.
"""

import asyncio
import json
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from hashlib import sha256
from hmac import new as hmac_new
from typing import Any, Self
from urllib.parse import parse_qsl
from uuid import uuid4

import aiohttp
from aiohttp import web

from tests.rails.cards.provider_balance import ProviderBalance
from tests.rails.cards.provider_disputes import ProviderDisputes
from tollhouse.rails.cards.stripe.client import StripeAccount

SECRET_KEY, WEBHOOK_SECRET, OLD_SECRET = "sk_test_tollhouse", b"whsec_new", b"whsec_old"
PROGRAM = """
import sys
from localstripe import resources, server
resources.Store.dump_to_disk = lambda store: None
sys.argv = ["localstripe", "--from-scratch", "--port", sys.argv[1]]
server.start()
"""
CARD, DECLINED_CARD = "4242424242424242", "4000000000000341"
STARTS_WITHIN_S = 60


class CardProvider:
    """`async with CardProvider() as provider`. `sessions` are its hosted pages, by ID."""

    def __init__(self) -> None:
        self.sessions: dict[str, dict[str, Any]] = {}
        self.lose_answers = 0
        """How many of the next answers to requests that write are lost."""
        self.is_down = False
        self.posts: list[str] = []
        """The paths that were written to, each once per idempotency key."""
        self._answers: dict[str, tuple[bytes, int, bytes]] = {}
        self._process: Process

    @property
    def account(self) -> StripeAccount:
        """The operator's account."""
        return StripeAccount(
            rail="card",
            secret_key=SECRET_KEY,
            webhook_secrets=(WEBHOOK_SECRET, OLD_SECRET),
            api_url=self.url,
            takes_test_payments=True,
        )

    async def __aenter__(self) -> Self:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._behind = f"http://localhost:{port}"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "ignore", "-c", PROGRAM, str(port), stdout=DEVNULL, stderr=DEVNULL
        )
        self._http = aiohttp.ClientSession(headers={"Authorization": f"Bearer {SECRET_KEY}"})
        app = web.Application()
        app.router.add_post("/v1/checkout/sessions", self._open_page)
        app.router.add_get("/v1/checkout/sessions", self._find_page)
        app.router.add_get("/v1/checkout/sessions/{id}", self._read_page)
        app.router.add_post("/v1/checkout/sessions/{id}/expire", self._expire_page)
        self.disputes = ProviderDisputes(app, self._once, self._answer)
        self.balance = ProviderBalance(app, self._answer)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        until = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                await self.get("/v1/balance")
            except aiohttp.ClientConnectionError:
                assert time.monotonic() < until
                assert self._process.returncode is None
                await asyncio.sleep(0.05)
            else:
                return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        await self._http.close()
        self._process.terminate()
        await self._process.wait()

    async def get(self, path: str) -> Any:
        """An object of localstripe."""
        async with self._http.get(self._behind + path) as answer:
            return await answer.json()

    async def post(self, path: str, **form: str) -> Any:
        """Write to localstripe, as somebody else than the service."""
        async with self._http.post(self._behind + path, data=form) as answer:
            return await answer.json()

    async def pay(self, page_id: str, number: str = CARD) -> dict[str, Any]:
        """The customer pays on the hosted page. Returns the payment intent."""
        page = self.sessions[page_id]
        intent_id = await self.begin_payment(page["amount_total"], page["currency"], number)
        return await self.charge(page_id, intent_id)

    async def begin_payment(self, amount: int, currency: str, number: str = CARD) -> str:
        """The ID of a payment intent with this card, which is not charged yet."""
        card = {
            "type": "card",
            "card[number]": number,
            "card[exp_month]": "12",
            "card[exp_year]": "2040",
            "card[cvc]": "123",
        }
        method = await self.post("/v1/payment_methods", **card)
        intent = await self.post("/v1/payment_intents", amount=str(amount), currency=currency, payment_method=method["id"])
        return intent["id"]

    async def charge(self, page_id: str, intent_id: str) -> dict[str, Any]:
        """Charge the card of a payment intent for this page. Returns the payment intent."""
        page = self.sessions[page_id]
        page["payment_intent"] = intent_id
        await self.post(f"/v1/payment_intents/{intent_id}/confirm")
        found = await self.get(f"/v1/payment_intents/{intent_id}")
        if found["status"] == "succeeded":
            page["status"] = "complete"
            prefix = "payment_intent_data[metadata]["
            metadata = {name[len(prefix) : -1]: one for name, one in page["form"].items() if name.startswith(prefix)}
            self.balance.charged(found, metadata)
        return found

    def event(self, event_type: str, object_id: str, **changes: Any) -> bytes:
        """The body of an event, which says of the object no more than its ID."""
        data = {"id": object_id, "object": event_type.rpartition(".")[0]}
        whole = {
            "id": f"evt_{uuid4().hex}",
            "object": "event",
            "api_version": "2024-06-20",
            "created": int(time.time()),
            "livemode": False,
            "type": event_type,
            "data": {"object": data},
        }
        return json.dumps(whole | changes).encode()

    async def _open_page(self, request: web.Request) -> web.StreamResponse:
        form = dict(parse_qsl(await request.text(), keep_blank_values=True))

        async def open_page() -> tuple[int, bytes]:
            price = "line_items[0][price_data]"
            page_id = f"cs_test_{uuid4().hex}"
            self.sessions[page_id] = {
                "id": page_id,
                "object": "checkout.session",
                "status": "open",
                "livemode": False,
                "url": f"{self.url}/c/pay/{page_id}",
                "client_reference_id": form["client_reference_id"],
                "amount_total": int(form[f"{price}[unit_amount]"]),
                "currency": form[f"{price}[currency]"],
                "expires_at": int(form["expires_at"]),
                "success_url": form["success_url"],
                "cancel_url": form["cancel_url"],
                "payment_intent": None,
                "form": form,
            }
            return 200, json.dumps(self.sessions[page_id]).encode()

        return await self._once(request, open_page)

    async def _find_page(self, request: web.Request) -> web.StreamResponse:
        found = [
            session for session in self.sessions.values() if session["payment_intent"] == request.query["payment_intent"]
        ]
        return self._answer(200, json.dumps({"object": "list", "data": found, "has_more": False}).encode())

    async def _read_page(self, request: web.Request) -> web.StreamResponse:
        page = self.sessions.get(request.match_info["id"])
        if page is None:
            return self._answer(404, b'{"error": {"type": "invalid_request_error", "code": "resource_missing"}}')
        if page["payment_intent"] is not None:
            page = page | {"payment_intent": await self.get(f"/v1/payment_intents/{page['payment_intent']}")}
        return self._answer(200, json.dumps(page).encode())

    async def _expire_page(self, request: web.Request) -> web.StreamResponse:
        async def expire() -> tuple[int, bytes]:
            page = self.sessions[request.match_info["id"]]
            if page["status"] != "open":
                return 400, b'{"error": {"type": "invalid_request_error"}}'
            page["status"] = "expired"
            return 200, json.dumps(page).encode()

        return await self._once(request, expire)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()

        async def forward() -> tuple[int, bytes]:
            headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
            address = self._behind + request.path_qs
            async with self._http.request(request.method, address, data=body, headers=headers) as answer:
                status, found = answer.status, await answer.read()
            if (request.method, request.path, status) == ("POST", "/v1/refunds", 200):
                self.balance.refunded(json.loads(found), dict(parse_qsl(body.decode()))["payment_intent"])
            return status, found

        if request.method == "POST":
            return await self._once(request, forward)
        return self._answer(*await forward())

    async def _once(self, request: web.Request, action: Any) -> web.StreamResponse:
        """A key's first answer is repeated; another request with it is refused."""
        key, body = request.headers["Idempotency-Key"], await request.read()
        if self.is_down:
            return self._answer(500, b"{}")
        first = self._answers.get(key)
        if first is None:
            self.posts.append(request.path)
            status, answer = await action()
            first = self._answers[key] = (body, status, answer)
        if first[0] != body:
            return self._answer(400, b'{"error": {"type": "idempotency_error"}}')
        if self.lose_answers:
            self.lose_answers -= 1
            assert request.transport is not None
            request.transport.abort()
        return self._answer(first[1], first[2])

    def _answer(self, status: int, body: bytes) -> web.Response:
        status, body = (500, b"{}") if self.is_down else (status, body)
        return web.Response(body=body, status=status, content_type="application/json")


def signed(raw: bytes, *secrets: bytes, at: int | None = None) -> str:
    """The `Stripe-Signature` of a body."""
    at = int(time.time()) if at is None else at
    made = [hmac_new(secret, b"%d." % at + raw, sha256).hexdigest() for secret in secrets or (WEBHOOK_SECRET,)]
    return ",".join([f"t={at}", *(f"v1={signature}" for signature in made)])
