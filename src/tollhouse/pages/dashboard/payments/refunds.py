"""Refunds in the dashboard: the form, the review of the amounts, and their confirmation."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person, RoleForbidden
from tollhouse.accounts.merchants import team
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id_text, parse_id
from tollhouse.kernel.rails.provider import Payer
from tollhouse.kernel.text import Text, Translatable, joined
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.ledger.books.store import get_balance
from tollhouse.payments.links.model import MethodUnavailable
from tollhouse.payments.refunds import actions, new_refund, store
from tollhouse.payments.refunds.new_refund import (
    WINDOW,
    NewRefund,
    ReceiverRequired,
    RefundLimitReached,
    RefundNotAllowed,
    RefundPreview,
    find_obstacle,
    find_payer,
    preview_refund,
)
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import REFUND_REASONS, RefundReason, Transaction
from tollhouse.transfers.conversions.model import Exchange, RateUnavailable
from tollhouse.transfers.conversions.payments import price_of_one, was_converted
from tollhouse.transfers.gate.model import DailyLimitExceeded
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowFees, AmountBelowMinimum, RefundTooLarge

FIELDS = ("amount", "reason", "receiver", "external_id")
OF_THE_AMOUNT = (
    RefundLimitReached,
    AmountBelowFees,
    RefundTooLarge,
    RateUnavailable,
    InsufficientFunds,
    AmountBelowMinimum,
    AmountAboveMaximum,
    DailyLimitExceeded,
)
OF_THE_RECEIVER = (ReceiverRequired, MethodUnavailable)
NOT_REFUNDABLE: dict[str, Translatable] = {
    "status": "Nothing of this payment can be refunded.",
    "not_refundable_method": "This payment method does not support refunds. Send the money to the customer yourself.",
    "window_passed": Text("Payments can be refunded for %(days)s days. This period has ended.", days=WINDOW.days),
}


class RefundForm(Struct, frozen=True):
    """The values of the form."""

    values: dict[str, str]

    @property
    def reason(self) -> RefundReason:
        """The reason, which `of_values` has validated."""
        return cast("RefundReason", self.values["reason"])

    def new(self, currency: Currency) -> NewRefund:
        """The refund that they describe."""
        return NewRefund(
            amount=read_amount(self.values.get("amount", ""), currency) or None,
            reason=self.reason,
            receiver=self.values.get("receiver") or None,
            external_id=self.values.get("external_id") or None,
        )


def read_refund(form: Form) -> RefundForm:
    """The submitted form. Raises `ValidationFailed`."""
    return refund_of({name: form.one(name) or "" for name in FIELDS})


def refund_of(values: dict[str, str]) -> RefundForm:
    """A form with these values. Without an amount it shows what is left. Raises `ValidationFailed`."""
    if values["reason"] not in REFUND_REASONS:
        raise ValidationFailed(FieldError("reason", "invalid_value", messages.A_CHOICE))
    return RefundForm(values)


async def show_refund(
    request: Request,
    person: Person,
    env: MerchantEnv,
    transaction_id: UUID,
    filled: RefundForm,
    refused: ApiError | None = None,
    message: str = "",
    *,
    reviewed: bool,
) -> Response:
    """The amounts to confirm if `reviewed` and possible, else the form with what is wrong. Raises `NotFound`."""
    services = request.services
    payment = await transaction_store.get(services.db, env, transaction_id)
    preview: RefundPreview | None = None
    if reviewed:
        currency = services.catalogue.currencies[payment.currency]
        try:
            new = filled.new(currency)
            _require_receiver(person, env, new)
            preview = await request.transact(lambda work: preview_refund(work, env, transaction_id, new, by=None))
            payment = preview.payment
        except (NotFound, RoleForbidden):
            raise
        except ApiError as error:
            refused = error
    payer = None if preview else await find_payer(services.db, payment, services.rails)
    currency_of_cost = preview.cost[0] if preview else await _currency_of_cost(request, payment)
    available_minor = (await get_balance(services.db, env, currency_of_cost)).available_minor
    if preview:
        template, status = "dashboard/refunds/refund_review.html", 409 if message else 200
        context = _review_context(preview, filled, available_minor, message, request.services.catalogue)
    else:
        template, status = "dashboard/refunds/refund.html", refused.status if refused else 200
        available = services.catalogue.format_amount(available_minor, currency_of_cost)
        context = await _form_context(request, payment, filled, payer, refused)
        context |= {"available": available, "currency_of_cost": currency_of_cost}
    return page(request, template, status, person=person, mode=env.mode, here="payments", payment=payment, **context)


def _require_receiver(person: Person, env: MerchantEnv, new: NewRefund) -> None:
    """A refund to another account is like a withdrawal. Raises `RoleForbidden`."""
    if new.receiver is not None:
        person.require("money", env.mode)


async def _form_context(
    request: Request, payment: Transaction, filled: RefundForm, payer: Payer | None, refused: ApiError | None
) -> dict[str, Any]:
    floor_minor = await request.transact(lambda work: new_refund.floor_minor(work, payment))
    fee_minor = new_refund.charged_minor(payment, request.services.catalogue)
    amounts = _amounts(
        payment.currency,
        request.services.catalogue,
        received=payment.received_minor,
        refunded=payment.refunded_minor,
        on_the_way=payment.returning_minor,
        left=payment.refundable_minor,
        fee=payment.fee_minor,
        floor=floor_minor,
        network_fee=fee_minor,
    )
    texts = amount_texts(request.services.catalogue.currencies[payment.currency], amount=filled.values.get("amount", ""))
    field = "amount" if isinstance(refused, OF_THE_AMOUNT) else "receiver" if isinstance(refused, OF_THE_RECEIVER) else ""
    obstacle = find_obstacle(payment, request.services.rails, request.now, request.services.catalogue)
    unfit = "" if payment.refundable_minor else NOT_REFUNDABLE["status"]
    if obstacle is not None:
        unfit = NOT_REFUNDABLE[obstacle.reason] if isinstance(obstacle, RefundNotAllowed) else obstacle.message
    return {
        "unfit": unfit,
        "amounts": amounts,
        "floor_minor": floor_minor,
        "network_fee_minor": fee_minor,
        "refunds_left": payment.refunds_left,
        "payer": payer,
        "receiver_label": "IBAN" if payment.method_type == "bank_transfer" else "Recipient",
        "reasons": list(REFUND_REASONS.items()),
        "typed": dict.fromkeys(FIELDS, "") | {"amount": amounts["left"]} | filled.values,
        "form_errors": _form_errors(refused, field, texts, amounts["left"], payment.currency),
    }


def _form_errors(
    refused: ApiError | None, field: str, texts: Mapping[tuple[str, str], Translatable], left: str, currency: str
) -> FormErrors:
    if refused is None:
        return NO_ERRORS
    errors = form_errors_of(refused, FIELDS, field, texts)
    if isinstance(refused, RefundTooLarge):
        most = Text("Enter %(amount)s %(currency)s or less.", amount=Decimal(left), currency=currency)
        errors = msgspec.structs.replace(errors, field_errors={field: joined(refused.message, most)})
    return errors


async def _currency_of_cost(request: Request, payment: Transaction) -> str:
    """The currency of the balance that pays for a refund: that of the price if the payment was converted."""
    if payment.price is None:
        return payment.currency
    converted = await request.transact(lambda work: was_converted(work.tx, payment.env, payment.id))
    return payment.price.currency if converted else payment.currency


def _review_context(
    preview: RefundPreview, filled: RefundForm, available_minor: int, message: str, catalogue: Catalogue
) -> dict[str, Any]:
    amounts = _amounts(
        preview.payment.currency,
        catalogue,
        refunded=preview.amount_minor,
        of_waiting=preview.unapplied_minor,
        fee=preview.payment.fee_minor,
        left_after=preview.payment.refundable_minor - preview.amount_minor,
        network_fee=preview.network_fee_minor,
    )
    cost_currency, cost_minor = preview.cost
    bought = preview.exchange
    margin_minor = 0 if bought is None else bought.fee_minor
    cost = {"of_merchant": cost_minor, "available_after": available_minor - cost_minor, "margin": margin_minor}
    return {
        "exchange": bought,
        "price_of_one": None if bought is None else _price_of_one(bought, catalogue),
        "cost_minor": cost_minor,
        "network_fee_minor": preview.network_fee_minor,
        "refunds_left": max(0, preview.payment.refunds_left - 1),
        "cost_currency": cost_currency,
        "seen": preview.payment.version,
        "key": new_id_text(),
        "reason": REFUND_REASONS[filled.reason],
        "typed": filled.values,
        "message": message,
        "destination": preview.destination,
        "amounts": amounts | _amounts(cost_currency, catalogue, **cost),
    }


def _price_of_one(bought: Exchange, catalogue: Catalogue) -> str:
    """What one unit costs the merchant, with the margin."""
    given, received = (bought.from_currency, bought.from_amount_minor), (bought.to_currency, bought.to_amount_minor)
    return price_of_one(given, received, catalogue)


def _amounts(currency: str, catalogue: Catalogue, **minors: int) -> dict[str, str]:
    """Each amount as the decimal string that templates format."""
    return {name: catalogue.format_amount(minor, currency) for name, minor in minors.items()}


OPERATIONS = Operations(PAGES)
CHANGED = "The payment has changed since you opened this page. Review the refund again before you confirm."
COSTS_MORE = "The refund costs more than when you opened this page. Review it again before you confirm."


class PaymentChanged(Exception):
    """The payment has changed since it was shown, or what its refund costs. The text says which."""


class RefundPage(Struct, frozen=True, forbid_unknown_fields=True):
    """`?again=` names a failed refund to retry."""

    again: UUID | None = None


@OPERATIONS.add(
    "GET", "/{mode}/payments/{transaction_id}/refund", guard=signed_in_page("refunds"), recent_authentication="live"
)
async def show_form(request: Request, caller: Person, env: MerchantEnv, transaction_id: UUID, query: RefundPage) -> Response:
    """Show the form: everything that is left, or the values of a failed refund."""
    values = {"reason": "customer_request"}
    earlier = None if query.again is None else await store.find(request.services.db, env, query.again)
    if earlier is not None and earlier.transaction_id == transaction_id:
        values = {
            "amount": request.services.catalogue.format_amount(earlier.amount_minor, earlier.currency),
            "reason": earlier.reason,
            "receiver": earlier.receiver or "",
            "external_id": earlier.external_id or "",
        }
    return await show_refund(request, caller, env, transaction_id, refund_of(values), reviewed=False)


@OPERATIONS.add(
    "POST", "/{mode}/payments/{transaction_id}/refund", guard=signed_in_page("refunds"), recent_authentication="live"
)
async def review(request: Request, caller: Person, env: MerchantEnv, transaction_id: UUID) -> Response:
    """Show the amounts to confirm, or the form again with its errors."""
    form = request.form()
    filled = read_refund(form)
    return await show_refund(request, caller, env, transaction_id, filled, reviewed=not form.one("change"))


@OPERATIONS.add(
    "POST", "/{mode}/payments/{transaction_id}/refund/confirm", guard=signed_in_page("refunds"), recent_authentication="live"
)
async def confirm(request: Request, caller: Person, env: MerchantEnv, transaction_id: UUID) -> Response:
    """Request the refund if the payment has not changed."""
    form = request.form()
    filled = read_refund(form)
    key, seen = form.one("key") or "", form.one("seen")
    shown_cost = form.one("cost") or ""
    cost_minor = int(shown_cost) if shown_cost.isascii() and shown_cost.isdecimal() else 0
    message, refused = "", None

    async def refund(work: Work) -> UUID:
        async def make() -> UUID:
            current = await transaction_store.lock(work.tx, env, transaction_id)
            if str(current.version) != seen:
                raise PaymentChanged(CHANGED)
            new = filled.new(request.services.catalogue.currencies[current.currency])
            _require_receiver(caller, env, new)
            made, _ = await actions.request(work, env, transaction_id, new, by=None)
            await team.ensure_refund_allowed(work, caller, made.id)
            if made.cost[1] > cost_minor:
                raise PaymentChanged(COSTS_MORE)
            return made.id

        return await create_once(work, env, key, (request.path, filled), make)

    if parse_id(key) is not None and seen is not None:
        try:
            await request.transact(refund)
            return see_other(f"/{env.mode}/payments/{transaction_id}?done=refund")
        except PaymentChanged as error:
            message = str(error)
        except (NotFound, RoleForbidden):
            raise
        except ApiError as error:
            refused = error
    return await show_refund(request, caller, env, transaction_id, filled, refused, message, reviewed=refused is None)
