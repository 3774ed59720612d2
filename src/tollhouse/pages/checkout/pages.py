"""The hosted checkout: choose a method, pay, and see the result. Works without JavaScript.

The forms need no CSRF token: there is no session or cookie whose rights another site could use. Anyone who knows the URL
may start an attempt and, in test mode, simulate its outcome; cross-site posts are rejected all the same. The URL names
the visitor's attempt.
"""

import hashlib
from datetime import datetime, timedelta
from typing import Any, cast, get_args
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import payer, payer_form
from tollhouse.accounts.identity.throttle import RateLimited, RequestMeter
from tollhouse.http.forms import flash_message, parse_form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import ENCODER, json_response, page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import amount_error
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import Mode, parse_id
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.rails.provider import SANDBOX_RAIL
from tollhouse.kernel.rails.registry import Rails
from tollhouse.pages.checkout import attempts, branding
from tollhouse.pages.checkout.payment_uri import uri_values
from tollhouse.pages.checkout.state import (
    CHOOSING,
    PAID,
    WAITING,
    Checkout,
    ChosenPrice,
    State,
    field_of,
    find_simulated_attempt,
    load_checkout,
    load_own_receipt,
    read_choice,
    require_choice,
    shown_rate,
    typed_of,
)
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import CheckoutPrice, LinkCanceled, LinkExpired, MethodUnavailable
from tollhouse.payments.links.offers import LinkOffer, load_prices, offers_for
from tollhouse.payments.receipts.mails import NO_MAIL_FORM, ReceiptMailForm, is_available
from tollhouse.payments.transactions.model import FAILURES, Transaction
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.sandbox.simulator import Outcome, Simulated
from tollhouse.transfers.orders.errors import InvalidState

OPERATIONS = Operations(PAGES)
OUTCOMES = frozenset(get_args(Outcome))
STARTS_PER_MIN = 60
"""Payments that visitors of one network begin. Each can cost a page at a provider, or an address."""
STARTS = RequestMeter(places=4_096)
REASONS = {
    "provider_not_configured": "This payment method is not set up yet.",
    "provider_down": "This payment method is temporarily unavailable.",
    "amount_out_of_range": "This payment method does not support this amount.",
    "rate_unavailable": "There is no current exchange rate for this payment method.",
}
ACTIONS = {
    "card": "Enter your card details.",
    "bank_transfer": "Transfer the money from your bank account.",
    "crypto": "Send it from your wallet.",
    "simulator": "Simulate a successful, failed or late payment.",
}
"""What the customer does, by the type of method."""
DURATIONS = {"instant": "Confirmed at once.", "minutes": "Takes a few minutes.", "days": "Takes up to two business days."}
WORDS: dict[str, Any] = {"reasons": REASONS, "actions": ACTIONS, "durations": DURATIONS}
CHOOSE_AGAIN = "Choose one of the payment methods below."


class CheckoutStatus(Struct, frozen=True, kw_only=True):
    """The JSON that the page polls."""

    status: State
    amount_due: str
    amount_due_minor: int
    amount_received: str
    amount_received_minor: int
    amount_detected: str
    amount_detected_minor: int
    currency: str
    confirmations: int | None
    required_confirmations: int | None
    expires_at: Timestamp
    redirect_url: str | None
    mode: Mode
    livemode: bool


@OPERATIONS.add("GET", "/pay/{token}", guard=payer, errors=(NotFound, LinkExpired, LinkCanceled))
async def show(request: Request, token: str, db: Pool, now: datetime) -> Response:
    """The checkout page. Browsers also get the page of a closed link."""
    query = parse_form(request.query)
    found = await load_checkout(db, token, named_attempt(request), now, anew=bool(query.one("change")))
    if not request.wants_html:
        _require_open(found)
    choice = None
    if found.state in CHOOSING:
        choice = read_choice(found.link, query, _currency(request, found), before=found.price)
    return await render(request, found, now, choice=choice)


@OPERATIONS.add("GET", "/pay/brand/{name}", guard=payer, errors=(NotFound,))
async def brand(name: str) -> Response:
    """The stylesheet of an accent colour, such as `1a6b4f.css`."""
    color = branding.SHEET_NAME.fullmatch(name)
    if color is None:
        raise NotFound
    return Response(branding.sheet(f"#{color[1]}"), 200, {"Cache-Control": "public, max-age=86400"}, "text/css")


@OPERATIONS.add("POST", "/pay/{token}/method", guard=payer_form, errors=(NotFound, MethodUnavailable, RateLimited))
async def choose(request: Request, token: str, db: Pool, now: datetime) -> Response:
    """Choose a payment method: starts an attempt, or shares an open one."""
    found = await load_checkout(db, token, named_attempt(request), now, anew=True)
    link = found.link
    if link.status_at(now) != "active" or found.shown.suspended:
        return see_other(found.path)
    if found.attempt is not None and found.state in WAITING:
        return see_other(found.path)
    choice = require_choice(link, request.form(), _currency(request, found))
    if choice.price is None:
        return await render(request, found, now, choice=choice)
    if request.services.settings.rate_limits:
        STARTS.count_network(request.address, STARTS_PER_MIN, now)
    offers = await _offers(request, found, choice.price, now)
    chosen = attempts.Choice(choice.price, offers, request.form().one("method_id") or "")
    try:
        new = await attempts.start(link, branding.shop_name(found), chosen, request.services, now)
    except MethodUnavailable as error:
        return await render(request, found, now, error, choice=choice)
    if isinstance(new, UUID):
        return see_other(f"/pay/{token}?payment={new}")

    async def action(tx: Tx) -> UUID | None:
        return await attempts.begin(tx, link, new, now, language_of(request))

    try:
        begun = await db.transact(action)
    except RateLimited:
        await attempts.abandon(request.services, link, new)
        raise
    if begun != new.id:
        await attempts.abandon(request.services, link, new)
    return see_other(f"/pay/{token}" if begun is None else f"/pay/{token}?payment={begun}")


@OPERATIONS.add("POST", "/pay/{token}/simulate", guard=payer_form, errors=(NotFound, ValidationFailed))
async def simulate(request: Request, token: str, db: Pool, now: datetime) -> Response:
    """Simulate the outcome, in test mode only."""
    shown = await link_store.get_by_token(db, token)
    if shown is None or shown.link.env.livemode:
        raise NotFound
    link = shown.link
    form = request.form()
    attempt = await find_simulated_attempt(db, link, named_attempt(request))
    currency = request.services.catalogue.currencies[link.currency if attempt is None else attempt.currency]
    outcome, amount = form.one("outcome"), read_amount(form.one("amount") or "", currency)
    amount_minor = parse_amount(amount, currency.decimals) if amount else None
    if outcome not in OUTCOMES:
        raise ValidationFailed(FieldError("outcome", "invalid_value", messages.A_CHOICE))
    if amount and amount_minor is None:
        raise ValidationFailed(amount_error(currency))
    if attempt is None or attempt.rail != SANDBOX_RAIL:
        return see_other(f"/pay/{token}")

    async def action(work: Work) -> Transaction:
        return await Simulated(work, link.env, attempt.id).play(cast("Outcome", outcome), amount_minor)

    back = f"/pay/{token}?payment={attempt.id}"
    try:
        played = await request.transact(action)
    except InvalidState:
        return see_other(back)
    if attempt.is_open and played.status == "succeeded":
        return see_other((await load_checkout(db, token, attempt.id, now)).return_url or back)
    return see_other(back)


@OPERATIONS.add("GET", "/pay/{token}/status", guard=payer, errors=(NotFound, LinkExpired, LinkCanceled))
async def status(request: Request, token: str, db: Pool, now: datetime) -> Response:
    """The checkout's state for polling. Answers 304 if the ETag is unchanged."""
    found = await load_checkout(db, token, named_attempt(request), now)
    _require_open(found)
    link, attempt = found.link, found.attempt
    received_minor = attempt.received_minor if attempt else 0
    detected_minor = attempt.detected_minor if attempt else 0
    currency = found.due_currency
    body = CheckoutStatus(
        status=found.state,
        amount_due=request.services.catalogue.format_amount(found.due_minor, currency),
        amount_due_minor=found.due_minor,
        amount_received=request.services.catalogue.format_amount(received_minor, currency),
        amount_received_minor=received_minor,
        amount_detected=request.services.catalogue.format_amount(detected_minor, currency),
        amount_detected_minor=detected_minor,
        currency=currency,
        confirmations=attempt.confirmations if attempt else None,
        required_confirmations=attempt.required_confirmations if attempt else None,
        expires_at=stamp(link.expires_at),
        redirect_url=found.return_url,
        mode=link.env.mode,
        livemode=link.env.livemode,
    )
    tag = f'"{hashlib.sha256(ENCODER.encode(body)).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    return json_response(body, headers={"ETag": tag})


def _require_open(found: Checkout) -> None:
    """Raise `LinkExpired` or `LinkCanceled` for a closed link without a relevant payment."""
    if found.state == "expired":
        raise LinkExpired
    if found.state == "canceled":
        raise LinkCanceled


def named_attempt(request: Request) -> UUID | None:
    """The id of the visitor's attempt in the URL."""
    return parse_id(parse_form(request.query).one("payment") or "")


async def render(
    request: Request,
    found: Checkout,
    now: datetime,
    error: MethodUnavailable | None = None,
    mail_form: ReceiptMailForm = NO_MAIL_FORM,
    choice: ChosenPrice | None = None,
) -> Response:
    """The checkout page in its state. `choice`: what the customer has chosen, by default what the link suggests."""
    link, attempt, state, catalogue = found.link, found.attempt, found.state, request.services.catalogue
    request.zone = found.shown.zone
    choice = choice or ChosenPrice(found.price, typed_of(found.price, _currency(request, found)))
    is_choosing = error is not None or bool(choice.errors.field_errors)
    showing_offers = state in CHOOSING or state == "rate_expired" or is_choosing
    return page(
        request,
        "checkout/checkout.html",
        max(mail_form.errors.status, choice.errors.status) if error is None else error.status,
        allow_external_redirect=(link.success_url or found.settings.success_url) is not None,
        **branding.brand_values(found),
        link=link,
        **await _receipt_values(request, found, now, mail_form),
        **_price_values(request, found, choice),
        due=catalogue.format_amount(found.due_minor, found.due_currency),
        due_currency=found.due_currency,
        **_seen_values(found, catalogue, now),
        state="open" if is_choosing else state,
        attempt=attempt,
        currency=catalogue.currencies[attempt.currency if attempt else link.currency],
        failure=_failure(attempt) if state == "failed" else None,
        message=None if error is None else CHOOSE_AGAIN,
        **await _offer_values(request, found, choice.price if showing_offers else None, now),
        **WORDS,
        method_name=None if attempt is None else catalogue.label_of(attempt.method_id),
        **uri_values(found, catalogue),
        waiting=state in WAITING or state == "rate_expired",
        rate=shown_rate(attempt, catalogue),
        catalogue=catalogue,
        here=found.path,
        query=found.path.partition("?")[2],
        simulator=_simulator(found),
        **_arrival_values(found, request.services.rails, now),
        begun_at=stamp(link.created_at),
        now=stamp(now + link.clock_offset),
        expires_at=stamp(link.expires_at),
        cancel_url=None if state in PAID else link.cancel_url or found.settings.cancel_url,
        return_url=found.return_url if state in PAID else None,
        is_confirming=state == "pending" and bool(parse_form(request.query).one("returned")),
    )


def _seen_values(found: Checkout, catalogue: Catalogue, now: datetime) -> dict[str, Any]:
    """What was received or is on its way, and what is missing; None if nothing was seen."""
    attempt = found.attempt
    if attempt is None or found.seen_minor == 0:
        return {"seen": None, "missing": None, "is_link_over": False}
    in_time_minor = attempt.received_minor + attempt.detected_in_time_minor
    is_over = found.link.status_at(now) != "active"
    missing_minor = max(0, attempt.amount_minor - (in_time_minor if is_over else found.seen_minor))
    return {
        "seen": catalogue.format_amount(found.seen_minor, attempt.currency),
        "missing": catalogue.format_amount(missing_minor, attempt.currency) if missing_minor else None,
        "is_link_over": is_over,
    }


def _failure(attempt: Transaction | None) -> str:
    return FAILURES.get((attempt.failure_code if attempt else None) or "", "The payment failed.")


def _price_values(request: Request, found: Checkout, choice: ChosenPrice) -> dict[str, Any]:
    """What the payment costs and what that consists of, and the field with which the customer chooses it."""
    link, currency = found.link, _currency(request, found)
    price = choice.price if found.attempt is None or found.state in CHOOSING else found.price
    taxes = () if price is None else link.taxes_of(price)
    amount_minor = 0 if price is None else price.amount_minor
    return {
        "amount": currency.format(amount_minor) if price is not None else None,
        "items": () if price is None else link.items_of(price),
        "taxes": taxes,
        "net": currency.format(amount_minor - sum(line.amount_minor for line in taxes)),
        "link_currency": currency,
        "price_field": field_of(link),
        "price_typed": choice.typed,
        "price_errors": choice.errors.field_errors,
        "price_range": [currency.format(minor) for minor in link.amount_range],
        "can_choose_again": found.can_choose_again,
    }


def _currency(request: Request, found: Checkout) -> Currency:
    return request.services.catalogue.currencies[found.link.currency]


async def _offers(request: Request, found: Checkout, price: CheckoutPrice | None, now: datetime) -> list[LinkOffer]:
    """The methods for a price; none as long as there is no price."""
    if price is None:
        return []
    services = request.services
    current = await load_prices(services.db, found.link, found.settings, now)
    return offers_for(found.link, found.settings, services.rails, services.catalogue, current, price)


async def _offer_values(request: Request, found: Checkout, price: CheckoutPrice | None, now: datetime) -> dict[str, Any]:
    """The methods for a price, and whether there is a price that none of them takes."""
    offers = await _offers(request, found, price, now)
    return {"offers": offers, "is_unpayable": price is not None and not any(offer.available for offer in offers)}


async def _receipt_values(request: Request, found: Checkout, now: datetime, mail_form: ReceiptMailForm) -> dict[str, Any]:
    """The receipt, and the form that sends it if emails arrive."""
    return {
        "receipt": await load_own_receipt(request.services.db, found, now),
        "receipt_sent": flash_message(request.query) == "sent",
        "mail_form": mail_form if is_available(request.services) else None,
    }


def _arrival_values(found: Checkout, rails: Rails, now: datetime) -> dict[str, Any]:
    """How long money of the visitor's attempt travels, and whether some that was sent before may still arrive in time."""
    attempt = found.attempt
    settlement = timedelta() if attempt is None else rails.times(attempt.rail, attempt.env.mode).settlement
    passed = now + found.link.clock_offset - found.link.expires_at
    return {
        "settlement_days": settlement.days,
        "may_be_on_its_way": found.state == "expired" and passed < settlement,
        "may_have_been_sent": attempt is not None and attempt.instructions.redirect_url is None,
    }


def _simulator(found: Checkout) -> str | None:
    """Which simulator buttons to show."""
    attempt = found.attempt
    if attempt is None or found.link.env.livemode or attempt.rail != SANDBOX_RAIL:
        return None
    if found.state in {*WAITING, "rate_expired"}:
        return "open"
    if attempt.is_open and found.own and found.state == "completed":
        return "twice"
    if attempt.chargeback is not None and attempt.chargeback.status == "open":
        return "disputed"
    return "paid" if found.own and attempt.status in {"succeeded", "partially_refunded"} else None
