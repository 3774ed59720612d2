"""The dashboard's pages for a new withdrawal: choose a method, fill in the form, see what it costs, confirm.

What is confirmed is a quote, and a quote is used once: so a form that is posted twice makes one withdrawal.
"""

from typing import cast
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.catalogue.currencies import CURRENCIES, format_amount
from tollhouse.catalogue.provider_fields import MEMBER
from tollhouse.catalogue.withdrawal_methods import WITHDRAWAL_METHODS, FeeMode, ReceiverType, WithdrawalMethod
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.forms import Form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.schema_fields import fields_of, meant, typed_into
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.ledger.model import InsufficientFunds
from tollhouse.ledger.store import get_balance, list_balances
from tollhouse.orders.errors import (
    AmountAboveMaximum,
    AmountBelowMinimum,
    DuplicateExternalId,
    QuoteAlreadyUsed,
    QuoteExpired,
)
from tollhouse.outgoing.errors import DailyLimitExceeded
from tollhouse.withdrawals import actions, methods, store
from tollhouse.withdrawals.errors import AmountBelowFees
from tollhouse.withdrawals.methods import UnavailableReason
from tollhouse.withdrawals.new_withdrawal import NewWithdrawal
from tollhouse.withdrawals.views import quote_view

OPERATIONS = Operations(PAGES)
FIELDS = ("amount", "network_fee_mode", "receiver", "description", "external_id", "webhook_url")
OF_THE_AMOUNT = (AmountBelowMinimum, AmountAboveMaximum, AmountBelowFees, DailyLimitExceeded, InsufficientFunds)
REASONS: dict[UnavailableReason, str] = {
    "not_in_environment": "Only in the live environment.",
    "disabled_by_operator": "Switched off by the operator.",
    "currency_not_supported": "This currency cannot be withdrawn.",
    "provider_not_configured": "Not set up here yet.",
    "provider_down": "Out of order right now.",
}
RECEIVERS: dict[ReceiverType, tuple[str, str]] = {
    "iban": ("IBAN", "Of an account that SEPA transfers reach, with spaces or without."),
    "evm_address": ("Address", "Begins with 0x. What is sent to a wrong address is lost."),
    "bitcoin_address": ("Address", "What is sent to a wrong address is lost."),
    "sandbox": ("Receiver", "Any words. Try sandbox-declined, sandbox-fails or sandbox-stuck to see what can go wrong."),
}
FEE_MODES = {"deduct": "Taken from the amount: less arrives.", "add": "Added to the amount: more leaves the balance."}
LOOK_AGAIN = "The quote was not kept any longer. This is a new one: look again before you confirm."


class Choice(Struct, frozen=True):
    """A method to choose, what is there to be withdrawn by it, and why it cannot be used; empty where it can."""

    method: WithdrawalMethod
    available: str
    reason: str
    has_money: bool


class Typed(Struct, frozen=True):
    """What stands in the form. `values` has the fields that the method's schema asks for too."""

    values: dict[str, str]
    new: NewWithdrawal


@OPERATIONS.add("GET", "/{mode}/withdrawals/new", guard=signed_in_page)
async def choose(request: Request, caller: Person, mode: str) -> Response:
    """The methods of this environment: those first for whose currency there is money."""
    env = caller.env(mode)
    there = {balance.currency: balance.available_minor for balance in await list_balances(request.services.db, env)}
    choices = [_choice(method, env, there.get(method.currency, 0)) for method in methods.listed(env.mode)]
    return page(
        request,
        "withdrawals/choose.html",
        person=caller,
        mode=env.mode,
        here="withdrawals",
        usable=sorted((one for one in choices if not one.reason), key=lambda one: not one.has_money),
        unusable=[one for one in choices if one.reason],
    )


@OPERATIONS.add("GET", "/{mode}/withdrawals/new/{method_id}", guard=signed_in_page, recent_authentication="live")
async def fill_in(request: Request, caller: Person, mode: str, method_id: str) -> Response:
    """The form of one method."""
    env = caller.env(mode)
    return await _form(request, caller, env, _method(method_id, env), _typed(Form([]), _method(method_id, env)))


@OPERATIONS.add("POST", "/{mode}/withdrawals/new/{method_id}", guard=signed_in_page, recent_authentication="live")
async def review(request: Request, caller: Person, mode: str, method_id: str) -> Response:
    """What it costs and what arrives, to be confirmed; or the form again, with what is wrong in it."""
    env = caller.env(mode)
    form, method = request.form(), _method(method_id, env)
    typed = _typed(form, method)
    if form.one("change"):
        return await _form(request, caller, env, method, typed)
    return await _review(request, caller, env, method, typed)


@OPERATIONS.add("POST", "/{mode}/withdrawals/new/{method_id}/confirm", guard=signed_in_page, recent_authentication="live")
async def confirm(request: Request, caller: Person, mode: str, method_id: str) -> Response:
    """Ask for the withdrawal that was quoted."""
    env, services = caller.env(mode), request.services
    form, method = request.form(), _method(method_id, env)
    quote_id = parse_id(form.one("quote_id") or "")
    typed = _typed(form, method, quote_id)
    if quote_id is None:
        return await _review(request, caller, env, method, typed)
    try:
        made_id = (await services.db.transact(lambda tx: actions.request(tx, env, typed.new, services, request.now))).id
    except ApiError as error:
        # Whatever stands against a second one, the first click may have made it.
        earlier_id = await store.id_of_quote(services.db, env, quote_id)
        if earlier_id is None and isinstance(error, QuoteExpired | QuoteAlreadyUsed | NotFound):
            return await _review(request, caller, env, method, _typed(form, method), LOOK_AGAIN)
        if earlier_id is None:
            return await _form(request, caller, env, method, typed, _said(error, typed))
        made_id = earlier_id
    return see_other(f"/{env.mode}/withdrawals/{made_id}")


def _choice(method: WithdrawalMethod, env: MerchantEnv, there_minor: int) -> Choice:
    reason = methods.unavailable_reason(method, env.mode)
    said = "" if reason is None else REASONS[reason]
    return Choice(method, format_amount(there_minor, method.currency), said, there_minor > 0)


def _method(method_id: str, env: MerchantEnv) -> WithdrawalMethod:
    method = WITHDRAWAL_METHODS.get(method_id)
    if method is None or method not in methods.listed(env.mode):
        raise NotFound
    return method


def _typed(form: Form, method: WithdrawalMethod, quote_id: UUID | None = None) -> Typed:
    fields = fields_of(method.provider_fields, MEMBER)
    values = {name: form.one(name) or "" for name in FIELDS} | typed_into(fields, form) | {"amount": form.amount("amount")}
    new = NewWithdrawal(
        method_id=method.method_id,
        amount=values["amount"],
        receiver=values["receiver"],
        network_fee_mode=cast("FeeMode | None", values["network_fee_mode"] or None),  # what else stands there is refused
        provider_fields=meant(fields, MEMBER, values),
        quote_id=quote_id,
        description=values["description"] or None,
        external_id=values["external_id"] or None,
        webhook_url=values["webhook_url"] or None,
    )
    return Typed(values, new)


async def _review(
    request: Request, person: Person, env: MerchantEnv, method: WithdrawalMethod, typed: Typed, message: str = ""
) -> Response:
    try:
        quote = await request.services.db.transact(
            lambda tx: actions.offer(tx, env, typed.new, request.services, request.now)
        )
    except ApiError as error:
        return await _form(request, person, env, method, typed, _said(error, typed))
    return page(
        request,
        "withdrawals/review.html",
        409 if message else 200,
        person=person,
        mode=env.mode,
        here="withdrawals",
        method=method,
        quote=quote_view(quote),
        receiver_label=RECEIVERS[method.receiver_type][0],
        fields=fields_of(method.provider_fields, MEMBER),
        typed=typed.values,
        message=message,
    )


async def _form(
    request: Request,
    person: Person,
    env: MerchantEnv,
    method: WithdrawalMethod,
    typed: Typed,
    form_errors: FormErrors = NO_ERRORS,
) -> Response:
    currency = CURRENCIES[method.currency]
    choice = _choice(method, env, (await get_balance(request.services.db, env, method.currency)).available_minor)
    label, hint = RECEIVERS[method.receiver_type]
    return page(
        request,
        "withdrawals/new.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="withdrawals",
        choice=choice,
        method=method,
        minimum=currency.format(method.minimum_minor),
        maximum="" if method.maximum_minor is None else currency.format(method.maximum_minor),
        daily="" if method.daily_limit_minor is None else currency.format(method.daily_limit_minor),
        receiver_label=label,
        receiver_hint=hint,
        fee_modes=[(mode, FEE_MODES[mode]) for mode in method.network_fee_modes],
        fields=fields_of(method.provider_fields, MEMBER),
        typed=typed.values,
        form_errors=form_errors,
    )


def _said(error: ApiError, typed: Typed) -> FormErrors:
    at = "amount" if isinstance(error, OF_THE_AMOUNT) else "external_id" if isinstance(error, DuplicateExternalId) else ""
    return form_errors_of(error, typed.values, at)
