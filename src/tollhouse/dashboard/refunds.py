"""The dashboard's pages for a refund: the form, the review of amounts, the confirmation.

The review page carries an idempotency key and the payment's version, so that a repeated submit, or a second
open form, refunds once.
"""

from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.catalogue.currencies import format_amount
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.forms import Form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.idempotency.claims import create_once
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id_text, parse_id
from tollhouse.kernel.text import Text, Translatable
from tollhouse.ledger.model import InsufficientFunds
from tollhouse.ledger.store import get_balance
from tollhouse.orders.errors import AmountAboveMaximum, AmountBelowMinimum, RefundTooLarge
from tollhouse.outgoing.errors import DailyLimitExceeded
from tollhouse.payment_links.errors import MethodUnavailable
from tollhouse.refunds import actions, store
from tollhouse.refunds.actions import RefundPreview
from tollhouse.refunds.destination import find_payer
from tollhouse.refunds.errors import ChargedBack, ReceiverRequired, RefundNotAllowed
from tollhouse.refunds.new_refund import NewRefund
from tollhouse.transactions import settlement
from tollhouse.transactions import store as transaction_store
from tollhouse.transactions.model import REFUND_REASONS, Transaction
from tollhouse.transactions.views import transaction_view

OPERATIONS = Operations(PAGES)
FIELDS = ("amount", "reason", "receiver", "external_id")
OF_THE_AMOUNT = (RefundTooLarge, InsufficientFunds, AmountBelowMinimum, AmountAboveMaximum, DailyLimitExceeded)
OF_THE_RECEIVER = (ReceiverRequired, MethodUnavailable)
NOT_REFUNDABLE: dict[str, Translatable] = {
    "status": "Nothing of this payment can be refunded.",
    "not_refundable_method": "This payment method does not support refunds. Send the money to the customer yourself.",
    "window_passed": Text("A payment can be refunded for %(days)s days, and they are over.", days=actions.WINDOW.days),
}
CHANGED = "The payment has changed since you opened this page. Review the refund again before you confirm."


class PaymentChanged(Exception):
    """The payment has changed since it was shown."""


class RefundPage(Struct, frozen=True, forbid_unknown_fields=True):
    """`?again=` names a failed refund to retry."""

    again: UUID | None = None


class RefundForm(Struct, frozen=True):
    """The values of the form."""

    values: dict[str, str]
    new: NewRefund


@OPERATIONS.add("GET", "/{mode}/payments/{transaction_id}/refund", guard=signed_in_page, recent_authentication="live")
async def show_form(request: Request, caller: Person, mode: str, transaction_id: UUID, query: RefundPage) -> Response:
    """Show the form: everything that is left, the submitted values, or those of a failed refund."""
    env, db = caller.env(mode), request.services.db
    found = await transaction_store.get(db, env, transaction_id)
    if found is None:
        raise NotFound
    values = {"amount": format_amount(found.refundable_minor, found.currency), "reason": "customer_request"}
    earlier = None if query.again is None else await store.get(db, env, query.again)
    if earlier is not None and earlier.transaction_id == found.id:
        values = {
            "amount": format_amount(earlier.amount_minor, earlier.currency),
            "reason": earlier.reason,
            "receiver": earlier.receiver or "",
            "external_id": earlier.external_id or "",
        }
    return await _form(request, caller, env, found, _typed(Form(list(values.items()))))


@OPERATIONS.add("POST", "/{mode}/payments/{transaction_id}/refund", guard=signed_in_page, recent_authentication="live")
async def review(request: Request, caller: Person, mode: str, transaction_id: UUID) -> Response:
    """Show the amounts to confirm, or the form again with its errors."""
    env = caller.env(mode)
    form = request.form()
    typed = _typed(form)
    if form.one("change"):
        return await _form_anew(request, caller, env, transaction_id, typed, NO_ERRORS)
    return await _review(request, caller, env, transaction_id, typed)


@OPERATIONS.add(
    "POST", "/{mode}/payments/{transaction_id}/refund/confirm", guard=signed_in_page, recent_authentication="live"
)
async def confirm(request: Request, caller: Person, mode: str, transaction_id: UUID) -> Response:
    """Request the refund if the payment has not changed."""
    env = caller.env(mode)
    form = request.form()
    key, seen = form.one("key") or "", form.one("seen")
    typed = _typed(form)
    if parse_id(key) is None or seen is None:
        return await _review(request, caller, env, transaction_id, typed)

    async def refund(work: Work) -> UUID:
        async def make() -> UUID:
            current = await settlement.lock(work.tx, env, transaction_id)
            if str(current.version) != seen:
                raise PaymentChanged
            made, _ = await actions.request(work, env, transaction_id, typed.new, may_withdraw=True)
            return made.id

        return await create_once(work.tx, request, env, key, typed.new, make)

    try:
        await request.transact(refund)
    except PaymentChanged:
        return await _review(request, caller, env, transaction_id, typed, CHANGED)
    except NotFound:
        raise
    except ApiError as error:
        return await _form_anew(request, caller, env, transaction_id, typed, _said(error, typed))
    return see_other(f"/{env.mode}/payments/{transaction_id}")


def _typed(form: Form) -> RefundForm:
    values = {name: form.one(name) or "" for name in FIELDS}
    if values["reason"] not in REFUND_REASONS:
        raise ValidationFailed(FieldError("reason", "invalid_value", messages.A_CHOICE))
    new = NewRefund(
        amount=values["amount"] or None,
        reason=values["reason"],
        receiver=values["receiver"] or None,
        external_id=values["external_id"] or None,
    )
    return RefundForm(values, new)


async def _review(
    request: Request, person: Person, env: MerchantEnv, transaction_id: UUID, typed: RefundForm, message: str = ""
) -> Response:
    try:
        preview_refund = await request.services.db.transact(
            lambda tx: actions.preview_refund(
                tx, env, transaction_id, typed.new, request.services.rails, request.now, may_withdraw=True
            )
        )
    except NotFound:
        raise
    except ApiError as error:
        return await _form_anew(request, person, env, transaction_id, typed, _said(error, typed))
    found = preview_refund.payment
    there = (await get_balance(request.services.db, env, found.currency)).available_minor
    return page(
        request,
        "dashboard/refunds/refund_review.html",
        409 if message else 200,
        person=person,
        mode=env.mode,
        here="payments",
        payment=transaction_view(found, request.now),
        seen=found.version,
        key=new_id_text(),
        reason=REFUND_REASONS[typed.new.reason],
        typed=typed.values,
        message=message,
        destination=preview_refund.destination,
        amounts=_amounts(preview_refund, there),
    )


def _amounts(preview_refund: RefundPreview, there_minor: int) -> dict[str, str]:
    """The amounts of the refund and what is left afterwards."""
    minors = {
        "refunded": preview_refund.amount_minor,
        "of_merchant": preview_refund.credited_minor,
        "of_waiting": preview_refund.unapplied_minor,
        "available_after": there_minor - preview_refund.credited_minor,
        "left_after": preview_refund.payment.refundable_minor - preview_refund.amount_minor,
    }
    return {name: format_amount(minor, preview_refund.payment.currency) for name, minor in minors.items()}


async def _form_anew(
    request: Request, person: Person, env: MerchantEnv, transaction_id: UUID, typed: RefundForm, form_errors: FormErrors
) -> Response:
    found = await transaction_store.get(request.services.db, env, transaction_id)
    if found is None:
        raise NotFound
    return await _form(request, person, env, found, typed, form_errors)


async def _form(
    request: Request,
    person: Person,
    env: MerchantEnv,
    found: Transaction,
    typed: RefundForm,
    form_errors: FormErrors = NO_ERRORS,
) -> Response:
    payer = await find_payer(request.services.db, found, request.services.rails)
    there = (await get_balance(request.services.db, env, found.currency)).available_minor
    return page(
        request,
        "dashboard/refunds/refund.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="payments",
        payment=transaction_view(found, request.now),
        unfit=_unfit(found, request),
        left=format_amount(found.refundable_minor, found.currency),
        on_the_way=format_amount(found.returning_minor, found.currency) if found.returning_minor else "",
        available=format_amount(there, found.currency),
        payer=payer,
        receiver_label="IBAN" if found.method_type == "bank_transfer" else "Receiver",
        reasons=list(REFUND_REASONS.items()),
        typed=typed.values,
        form_errors=form_errors,
    )


def _unfit(found: Transaction, request: Request) -> Translatable:
    """Why this payment cannot be refunded; empty if it can."""
    refused = actions.find_obstacle(found, request.services.rails, request.now)
    if isinstance(refused, ChargedBack):
        return refused.message
    if isinstance(refused, RefundNotAllowed):
        return NOT_REFUNDABLE[refused.reason]
    return "" if found.refundable_minor > 0 else NOT_REFUNDABLE["status"]


def _said(error: ApiError, typed: RefundForm) -> FormErrors:
    field = "amount" if isinstance(error, OF_THE_AMOUNT) else "receiver" if isinstance(error, OF_THE_RECEIVER) else ""
    return form_errors_of(error, typed.values, field)
