"""The hosted checkout: a customer opens the link's page, chooses how to pay, and sees how it ends. Works without scripts.

These forms carry no hidden token. There is no session here whose rights a foreign site could borrow: whoever knows the
address may begin a payment of the link, and in test mode say how it ends, with or without our page.
"""

import hashlib
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.callers.guards import anyone
from tollhouse.catalogue.currencies import format_amount
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.ids import Mode, parse_id
from tollhouse.kernel.refusals import Fault, NotFound, ValidationFailed
from tollhouse.payments import actions, settle, store, transactions_store
from tollhouse.payments.model import FAILURES, MethodUnavailable, PaymentLink, Transaction
from tollhouse.payments.offers import offers_for
from tollhouse.payments.store import Shown
from tollhouse.platform.db import Pool, Tx
from tollhouse.rails.configured import SANDBOX
from tollhouse.web.answers import ENCODER, json_answer, page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.forms import parse_form
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
State = Literal["open", "pending", "processing", "failed", "succeeded", "completed", "expired", "canceled", "paused"]
REASONS = {
    "provider_not_configured": "This way to pay is not set up yet.",
    "provider_down": "This way to pay is out of order right now.",
    "amount_out_of_range": "This amount cannot be paid this way.",
}
CHOOSE_AGAIN = "Choose one of the ways to pay below."


class CheckoutStatus(Struct, frozen=True, kw_only=True):
    """What the page asks for while it waits."""

    status: State
    amount_due: str
    amount_due_minor: int
    amount_received: str
    amount_received_minor: int
    currency: str
    confirmations: int | None = None
    required_confirmations: int | None = None
    expires_at: Timestamp
    redirect_url: str | None
    mode: Mode
    livemode: bool


class Scene(Struct, frozen=True):
    """What a customer finds: the link, the attempt that matters to them, and the state they make together."""

    shown: Shown
    attempt: Transaction | None
    state: State

    @property
    def link(self) -> PaymentLink:
        """The link of the page."""
        return self.shown.link


@OPERATIONS.add("GET", "/pay/{token}", guard=anyone, refuses=(NotFound,))
async def show(ask: Ask, token: str, db: Pool, now: datetime) -> Response:
    """The checkout page of a payment link."""
    return _page(ask, await _scene(ask, db, token, now))


@OPERATIONS.add("POST", "/pay/{token}/method", guard=anyone, refuses=(NotFound, MethodUnavailable))
async def choose(ask: Ask, token: str, db: Pool, now: datetime) -> Response:
    """Choose how to pay."""
    scene = await _scene(ask, db, token, now)
    if scene.state not in {"open", "failed", "succeeded"}:
        return see_other(f"/pay/{token}")
    try:
        attempt_id, method, told = await actions.start(scene.link, ask.form().one("method_id") or "")
    except MethodUnavailable as refusal:
        return _page(ask, scene, refusal=refusal)

    async def deed(tx: Tx) -> None:
        await actions.begin(tx, scene.link, attempt_id, method, told, now)

    await db.transact(deed)
    return see_other(f"/pay/{token}")


@OPERATIONS.add("POST", "/pay/{token}/simulate", guard=anyone, refuses=(NotFound, ValidationFailed))
async def simulate(ask: Ask, token: str, db: Pool, now: datetime) -> Response:
    """Play the customer's bank, in test mode only."""
    scene = await _scene(ask, db, token, now)
    link, attempt = scene.link, scene.attempt
    if link.env.livemode:
        raise NotFound
    outcome = ask.form().one("outcome")
    if outcome not in {"succeed", "fail"}:
        raise ValidationFailed(Fault("outcome", "invalid_value", "Either succeed or fail."))
    if attempt is None or not attempt.is_open or attempt.rail != SANDBOX.name:
        return see_other(f"/pay/{token}")
    seen = SANDBOX.simulate(
        attempt.instructions.reference, attempt.amount_minor, "succeed" if outcome == "succeed" else "fail"
    )

    async def deed(tx: Tx) -> bool:
        return await settle.settle(tx, attempt, seen, ask.house, now)

    ended = await db.transact(deed)
    if seen.outcome == "failed" or not ended:
        return see_other(f"/pay/{token}")
    return see_other(_return_address(link, attempt.id) or f"/pay/{token}?payment={attempt.id}")


@OPERATIONS.add("GET", "/pay/{token}/status", guard=anyone, refuses=(NotFound,))
async def status(ask: Ask, token: str, db: Pool, now: datetime) -> Response:
    """The state of the checkout, for a page that waits. Answers 304 to the ETag of an unchanged state."""
    scene = await _scene(ask, db, token, now)
    link = scene.link
    paid = scene.state in {"succeeded", "completed"}
    received_minor = scene.attempt.received_minor if scene.attempt else 0
    due_minor = 0 if paid else link.amount_minor
    body = CheckoutStatus(
        status=scene.state,
        amount_due=format_amount(due_minor, link.currency),
        amount_due_minor=due_minor,
        amount_received=format_amount(received_minor, link.currency),
        amount_received_minor=received_minor,
        currency=link.currency,
        expires_at=stamp(link.expires_at),
        redirect_url=_return_address(link, scene.attempt.id) if paid and scene.attempt else None,
        mode=link.env.mode,
        livemode=link.env.livemode,
    )
    tag = f'"{hashlib.sha256(ENCODER.encode(body)).hexdigest()[:32]}"'
    if ask.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    return json_answer(body, headers={"ETag": tag})


async def _scene(ask: Ask, db: Pool, token: str, now: datetime) -> Scene:
    """What the customer of this address finds. Raises `NotFound`."""
    shown = await store.by_token(db, token)
    if shown is None:
        raise NotFound
    link = shown.link
    followed = await _followed(ask, db, link)
    if followed is not None and followed.status == "succeeded":
        return Scene(shown, followed, "succeeded")
    attempt = followed
    if attempt is None and link.latest_transaction_id is not None:
        attempt = await transactions_store.one(db, link.env, link.latest_transaction_id)
    return Scene(shown, attempt, _state(shown, attempt, now))


async def _followed(ask: Ask, db: Pool, link: PaymentLink) -> Transaction | None:
    """The customer's own payment, which the address names after paying a link that others pay too."""
    named = parse_id(parse_form(ask.query).one("payment") or "")
    found = None if named is None else await transactions_store.one(db, link.env, named)
    return found if found is not None and found.payment_link_id == link.id else None


def _state(shown: Shown, attempt: Transaction | None, now: datetime) -> State:
    stands = shown.link.status_at(now)
    if stands != "active":
        return stands
    if attempt is not None and attempt.status in {"pending", "processing"}:
        return "pending" if attempt.status == "pending" else "processing"
    if shown.suspended:
        return "paused"
    return "failed" if attempt is not None and attempt.status == "failed" else "open"


def _page(ask: Ask, scene: Scene, refusal: MethodUnavailable | None = None) -> Response:
    link, attempt = scene.link, scene.attempt
    paid = scene.state in {"succeeded", "completed"}
    failure = (
        FAILURES.get(attempt.failure_code or "", "The payment failed.") if scene.state == "failed" and attempt else None
    )
    return page(
        ask,
        "payments/checkout.html",
        200 if refusal is None else refusal.status,
        free_redirect=link.success_url is not None,
        shop=scene.shown.business_name,
        link=link,
        amount=format_amount(link.amount_minor, link.currency),
        state=scene.state,
        attempt=attempt,
        failure=failure,
        message=None if refusal is None else CHOOSE_AGAIN,
        offers=offers_for(link),
        reasons=REASONS,
        expires_at=stamp(link.expires_at),
        until=link.expires_at.strftime("%H:%M UTC on %d %B %Y"),
        return_address=_return_address(link, attempt.id) if paid and attempt else None,
    )


def _return_address(link: PaymentLink, transaction_id: UUID) -> str | None:
    """Where the customer goes after paying, with the placeholders filled in. It proves nothing: the webhook does."""
    if link.success_url is None:
        return None
    return link.success_url.replace("{PAYMENT_LINK_ID}", str(link.id)).replace("{TRANSACTION_ID}", str(transaction_id))
