"""Disputes of the card provider, which localstripe does not have: written down from the public API reference."""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

from aiohttp import web

Answered = tuple[int, bytes]
Once = Callable[[web.Request, Callable[[], Awaitable[Answered]]], Awaitable[web.StreamResponse]]
Answer = Callable[[int, bytes], web.StreamResponse]
DAY_S = 86_400


class ProviderDisputes:
    """The provider's disputes by ID. `once` answers a request that writes, `answer` any other."""

    def __init__(self, app: web.Application, once: Once, answer: Answer) -> None:
        self.opened: dict[str, dict[str, Any]] = {}
        self.answers_per_page = 100
        self._once, self._answer = once, answer
        app.router.add_get("/v1/disputes", self._list)
        app.router.add_get("/v1/disputes/{id}", self._read)
        app.router.add_post("/v1/disputes/{id}", self._submit)
        app.router.add_post("/v1/disputes/{id}/close", self._close)

    def open(self, intent_id: str | None, amount: int, **changes: Any) -> dict[str, Any]:
        """A customer disputes a payment."""
        dispute: dict[str, Any] = {
            "id": f"du_{uuid4().hex}",
            "object": "dispute",
            "created": int(time.time()),
            "amount": amount,
            "currency": "eur",
            "reason": "product_not_received",
            "status": "needs_response",
            "payment_intent": intent_id,
            "evidence": {},
            "evidence_details": {"due_by": int(time.time()) + 9 * DAY_S, "has_evidence": False, "submission_count": 0},
            "livemode": False,
        } | changes
        self.opened[dispute["id"]] = dispute
        return dispute

    async def _list(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query["created[gte]"])
        found = [one for one in reversed(self.opened.values()) if one["created"] >= since]
        if (after := request.query.get("starting_after")) is not None:
            found = found[[dispute["id"] for dispute in found].index(after) + 1 :]
        page = found[: min(int(request.query["limit"]), self.answers_per_page)]
        return self._answer(200, json.dumps({"data": page, "has_more": len(page) < len(found)}).encode())

    async def _read(self, request: web.Request) -> web.StreamResponse:
        dispute = self.opened.get(request.match_info["id"])
        if dispute is None:
            return self._answer(404, b'{"error": {"type": "invalid_request_error", "code": "resource_missing"}}')
        return self._answer(200, json.dumps(dispute).encode())

    async def _submit(self, request: web.Request) -> web.StreamResponse:
        form = dict(parse_qsl(await request.text()))

        async def submit() -> Answered:
            dispute = self.opened[request.match_info["id"]]
            if dispute["status"] != "needs_response" or dispute["evidence_details"]["due_by"] < time.time():
                return 400, b'{"error": {"type": "invalid_request_error"}}'
            dispute["evidence"] = {name[len("evidence[") : -1]: text for name, text in form.items() if name != "submit"}
            dispute["status"] = "under_review"
            return 200, json.dumps(dispute).encode()

        return await self._once(request, submit)

    async def _close(self, request: web.Request) -> web.StreamResponse:
        async def close() -> Answered:
            self.opened[request.match_info["id"]]["status"] = "lost"
            return 200, json.dumps(self.opened[request.match_info["id"]]).encode()

        return await self._once(request, close)
