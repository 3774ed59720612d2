"""Dashboard pages to create a withdrawal: choose a method, fill in the form, review the costs, confirm.

The confirmation names a quote, and a quote is used once, so a form that is sent twice creates one withdrawal.
"""

from datetime import timedelta
from typing import cast
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, see_other
from tollhouse.http.schema_fields import SchemaField, form_fields, read_values, to_object
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.provider_fields import MEMBER
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.catalogue.withdrawal_methods import FeeMode, ReceiverType, WithdrawalMethod
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.rails.registry import Rails
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.ledger.books.store import get_balance, list_balances
from tollhouse.pages.dashboard.balances.recipients import (
    OF_THE_TRANSFER,
    Recipient,
    RecipientChoices,
    get_recipient,
    list_choices,
    summarize,
)
from tollhouse.pages.dashboard.layout import render
from tollhouse.transfers.gate import gate
from tollhouse.transfers.gate.model import DailyLimitExceeded
from tollhouse.transfers.orders.errors import (
    AmountAboveMaximum,
    AmountBelowFees,
    AmountBelowMinimum,
    DuplicateExternalId,
    QuoteAlreadyUsed,
    QuoteExpired,
)
from tollhouse.transfers.withdrawals import actions, model, store
from tollhouse.transfers.withdrawals.acceptance import list_errors
from tollhouse.transfers.withdrawals.model import UnavailableReason, largest_amount
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal
from tollhouse.transfers.withdrawals.views import withdrawal_quote_view

OPERATIONS = Operations(PAGES)
FIELDS = ("to", "amount", "network_fee_mode", "receiver", "description", "external_id", "webhook_url")
OTHER_FIELDS = OF_THE_TRANSFER.union(FIELDS) - {"receiver"}
"""The fields that do not describe the recipient."""
NEW_RECIPIENT = "new"
AMOUNT_ERRORS = (AmountBelowMinimum, AmountAboveMaximum, AmountBelowFees, DailyLimitExceeded, InsufficientFunds)
REASONS: dict[UnavailableReason, str] = {
    "not_in_environment": "Only available in live mode.",
    "disabled_by_operator": "Disabled by the operator.",
    "currency_not_supported": "Withdrawals are not supported in this currency.",
    "provider_not_configured": "Not configured yet.",
    "provider_down": "Temporarily unavailable.",
}
RECEIVERS: dict[ReceiverType, tuple[str, str]] = {
    "iban": ("IBAN", "The IBAN of an account that accepts SEPA transfers."),
    "evm_address": ("Address", "Starts with 0x. Money sent to a wrong address is lost."),
    "bitcoin_address": ("Address", "Money sent to a wrong address is lost."),
    "sandbox": ("Recipient", "Any text. Enter sandbox-declined, sandbox-fails or sandbox-stuck to simulate a failure."),
}
FEE_MODES = {"deduct": "Deduct from the amount", "add": "Pay in addition"}
CHOOSE_RECIPIENT = "Withdrawals to this recipient are not possible. Choose another recipient."
QUOTE_RENEWED = "The quote has expired. Review the new costs before you confirm."


class MethodOption(Struct, frozen=True):
    """A method, the available balance in its currency, and why it is unavailable; empty where it is available."""

    method: WithdrawalMethod
    available: str
    reason: str
    has_balance: bool


class TypedWithdrawal(Struct, frozen=True, forbid_unknown_fields=True):
    """The query of the form: its script requests the summary of what is being typed."""

    amount: str = ""
    network_fee_mode: str = ""
    to: str = ""


class WithdrawalForm(Struct, frozen=True):
    """The values of the form, with those of the method's own fields.

    `to` is a saved recipient, or an earlier withdrawal to the same recipient. `saved_id` is set for a saved one.
    """

    values: dict[str, str]
    method: WithdrawalMethod
    saved_id: UUID | None = None

    @property
    def has_chosen_recipient(self) -> bool:
        """Whether the recipient is a saved one, or that of an earlier withdrawal."""
        return self.values["to"] not in {"", NEW_RECIPIENT}

    def new(self, catalogue: Catalogue, quote_id: UUID | None = None) -> NewWithdrawal:
        """The withdrawal that they describe."""
        values, fields = self.values, form_fields(self.method.provider_fields, MEMBER)
        is_saved = self.saved_id is not None
        sent = [field for field in fields if field.name in OF_THE_TRANSFER] if is_saved else fields
        return NewWithdrawal(
            method_id=self.method.method_id,
            amount=read_amount(values["amount"], catalogue.currencies[self.method.currency]),
            receiver=None if is_saved else values["receiver"],
            recipient_id=self.saved_id,
            network_fee_mode=cast("FeeMode | None", values["network_fee_mode"] or None),  # validated by `parse`
            provider_fields=to_object(sent, values),
            quote_id=quote_id,
            description=values["description"] or None,
            external_id=values["external_id"] or None,
            webhook_url=values["webhook_url"] or None,
        )


@OPERATIONS.add("GET", "/{mode}/withdrawals/new", guard=signed_in_page("money"))
async def choose(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """The methods of this environment, those with a balance in their currency first."""
    available = {balance.currency: balance.available_minor for balance in await list_balances(request.services.db, env)}
    choices = [
        _choice(method, env, available.get(method.currency, 0), request.services.rails, request.services.catalogue)
        for method in model.list_methods(env.mode, request.services.catalogue)
    ]
    return render(
        request,
        caller,
        "withdrawals/choose",
        here="withdrawals",
        usable=sorted((choice for choice in choices if not choice.reason), key=lambda choice: not choice.has_balance),
        unusable=[choice for choice in choices if choice.reason],
    )


@OPERATIONS.add("GET", "/{mode}/withdrawals/new/{method_id}", guard=signed_in_page("money"), recent_authentication="live")
async def fill_in(request: Request, caller: Person, env: MerchantEnv, method_id: str, query: TypedWithdrawal) -> Response:
    """The form of a method."""
    method = method_of(method_id, env, request.services.catalogue)
    form = _read_form(Form([]), method)
    typed = {"amount": query.amount, "network_fee_mode": query.network_fee_mode, "to": query.to}
    return await _form(request, caller, env, method, WithdrawalForm(form.values | typed, method))


@OPERATIONS.add("POST", "/{mode}/withdrawals/new/{method_id}", guard=signed_in_page("money"), recent_authentication="live")
async def review(request: Request, caller: Person, env: MerchantEnv, method_id: str) -> Response:
    """The costs to confirm, or the form with its errors."""
    posted, method = request.form(), method_of(method_id, env, request.services.catalogue)
    form = await _parse_form(request, env, posted, method)
    if posted.one("change"):
        return await _form(request, caller, env, method, form)
    if posted.one("maximum"):
        return await _form(request, caller, env, method, form, with_largest_amount=True)
    return await _review(request, caller, env, method, form)


@OPERATIONS.add(
    "POST", "/{mode}/withdrawals/new/{method_id}/confirm", guard=signed_in_page("money"), recent_authentication="live"
)
async def confirm(request: Request, caller: Person, env: MerchantEnv, method_id: str) -> Response:
    """Create the withdrawal that was quoted."""
    services = request.services
    posted, method = request.form(), method_of(method_id, env, request.services.catalogue)
    quote_id = parse_id(posted.one("quote_id") or "")
    form = await _parse_form(request, env, posted, method)
    if quote_id is None:
        return await _review(request, caller, env, method, form)
    try:
        new = form.new(services.catalogue, quote_id)
        created_id = (await request.transact(lambda work: actions.request(work, env, new))).id
    except ApiError as error:
        # Whatever the error is, an earlier request may have created the withdrawal.
        created_id = await store.id_by_quote(services.db, env, quote_id)
        if created_id is None and isinstance(error, QuoteExpired | QuoteAlreadyUsed | NotFound):
            return await _review(request, caller, env, method, form, QUOTE_RENEWED)
        if created_id is None:
            return await _form(request, caller, env, method, form, _form_errors(error, form, request.services.catalogue))
    return see_other(f"/{env.mode}/withdrawals/{created_id}")


def _choice(
    method: WithdrawalMethod, env: MerchantEnv, available_minor: int, rails: Rails, catalogue: Catalogue
) -> MethodOption:
    reason = model.unavailable_reason(method, env.mode, rails, catalogue)
    message = "" if reason is None else REASONS[reason]
    return MethodOption(method, catalogue.format_amount(available_minor, method.currency), message, available_minor > 0)


def method_of(method_id: str, env: MerchantEnv, catalogue: Catalogue) -> WithdrawalMethod:
    """A method of this environment, available or not. Raises `NotFound`."""
    method = catalogue.withdrawal_methods.get(method_id)
    if method is None or method not in model.list_methods(env.mode, catalogue):
        raise NotFound
    return method


async def _largest_amounts(
    request: Request, env: MerchantEnv, method: WithdrawalMethod, available_minor: int
) -> dict[str, str]:
    """The largest amount by fee mode, as it is typed in the language of the page."""
    currency = request.services.catalogue.currencies[method.currency]
    async with request.services.db.connection() as tx:
        left_minor = await gate.left_today(tx, env, method, request.now)
    largest = {mode: largest_amount(method, available_minor, mode) for mode in method.network_fee_modes}
    write = formats_of(request).plain_amount
    return {
        mode: write(currency.format(minor if left_minor is None else min(minor, left_minor)))
        for mode, minor in largest.items()
    }


async def _parse_form(request: Request, env: MerchantEnv, posted: Form, method: WithdrawalMethod) -> WithdrawalForm:
    """The form, with the values of the recipient that was chosen. Raises `NotFound` if there is none."""
    form = _read_form(posted, method)
    if not form.has_chosen_recipient:
        return form
    recipient_id = parse_id(form.values["to"])
    if recipient_id is None:
        raise NotFound
    recipient = await get_recipient(request.services.db, env, method, recipient_id, request.now)
    return WithdrawalForm(form.values | recipient.values, method, recipient.id if recipient.is_saved else None)


def _read_form(posted: Form, method: WithdrawalMethod) -> WithdrawalForm:
    own = read_values(form_fields(method.provider_fields, MEMBER), posted)
    return WithdrawalForm({name: posted.one(name) or "" for name in FIELDS} | own, method)


async def _review(
    request: Request, person: Person, env: MerchantEnv, method: WithdrawalMethod, form: WithdrawalForm, message: str = ""
) -> Response:
    try:
        new = form.new(request.services.catalogue)
        quote = await request.transact(lambda work: actions.preview(work, env, new))
    except ApiError as error:
        errors = _form_errors(_with_others(error, form, env, request), form, request.services.catalogue)
        return await _form(request, person, env, method, form, errors)
    return render(
        request,
        person,
        "withdrawals/review",
        409 if message else 200,
        here="withdrawals",
        method=method,
        quote=withdrawal_quote_view(quote, request.services.rails, request.services.catalogue),
        now=stamp(quote.expires_at - actions.QUOTE_VALID_FOR),
        receiver_label=RECEIVERS[method.receiver_type][0],
        fields=form_fields(method.provider_fields, MEMBER),
        values=form.values,
        message=message,
    )


async def _form(
    request: Request,
    person: Person,
    env: MerchantEnv,
    method: WithdrawalMethod,
    form: WithdrawalForm,
    form_errors: FormErrors = NO_ERRORS,
    *,
    with_largest_amount: bool = False,
) -> Response:
    catalogue = request.services.catalogue
    currency = catalogue.currencies[method.currency]
    available_minor = (await get_balance(request.services.db, env, method.currency)).available_minor
    choice = _choice(method, env, available_minor, request.services.rails, catalogue)
    choices = await list_choices(request.services.db, env, method, request.now, parse_id(form.values["to"]))
    largest = await _largest_amounts(request, env, method, available_minor)
    values = form.values
    if with_largest_amount:
        values = values | {"amount": largest.get(values["network_fee_mode"]) or largest[method.network_fee_modes[0]]}
    chosen = _chosen(choices, form)
    if chosen is not None:
        values = values | dict.fromkeys(chosen.values, "")
    label, hint = RECEIVERS[method.receiver_type]
    return render(
        request,
        person,
        "withdrawals/new",
        here="withdrawals",
        choice=choice,
        method=method,
        minimum=currency.format(method.minimum_minor),
        maximum="" if method.maximum_minor is None else currency.format(method.maximum_minor),
        daily="" if method.daily_limit_minor is None else currency.format(method.daily_limit_minor),
        receiver_label=label,
        receiver_hint=hint,
        fee_modes=[(mode, FEE_MODES[mode]) for mode in method.network_fee_modes],
        own_fields=_own_fields(method),
        recipients=choices.recipients,
        saved_only=choices.saved_only,
        chosen=chosen,
        symbol=currency.symbol,
        largest=largest,
        summary=summarize(values["amount"], values["network_fee_mode"], method, available_minor, catalogue),
        arrives_at=None if method.arrives_in_s is None else stamp(request.now + timedelta(seconds=method.arrives_in_s)),
        values=values,
        form_errors=form_errors,
    )


def _own_fields(method: WithdrawalMethod) -> dict[str, list[SchemaField]]:
    """The fields of the method's schema: of the recipient, those that are not required apart, and of the transfer."""
    fields = form_fields(method.provider_fields, MEMBER)
    recipient = [field for field in fields if field.name not in OF_THE_TRANSFER]
    return {
        "recipient": [field for field in recipient if field.required],
        "optional": [field for field in recipient if not field.required],
        "transfer": [field for field in fields if field.name in OF_THE_TRANSFER],
    }


def _chosen(choices: RecipientChoices, form: WithdrawalForm) -> Recipient | None:
    """The recipient to select: that of the form, also if a later withdrawal names it; in an empty form the latest."""
    to, receiver = form.values["to"], form.values["receiver"]
    recipients = [recipient for recipient in choices.recipients if recipient.active_at is None]
    if not to and not receiver:
        return recipients[0] if recipients else None
    if not form.has_chosen_recipient:
        return None
    return next(
        (recipient for recipient in recipients if to == str(recipient.id) or receiver == recipient.values["receiver"]), None
    )


def _with_others(error: ApiError, form: WithdrawalForm, env: MerchantEnv, request: Request) -> ApiError:
    """The error with those of all other fields, of which the API reports the first kind."""
    services = request.services
    new = form.new(services.catalogue)
    others = list_errors(new, form.method, env, services.settings, services.rails, services.catalogue)
    if isinstance(error, AMOUNT_ERRORS) and all(other.field != "amount" for other in others):
        others.append(FieldError("amount", error.code, error.message))
    known = {field_error.field for field_error in error.field_errors}
    if known | {other.field for other in others} == known or not others:
        return error
    if len(others) == 1 and isinstance(error, AMOUNT_ERRORS) and others[0].field == "amount":
        return error
    return ValidationFailed(*error.field_errors, *(other for other in others if other.field not in known))


def _form_errors(error: ApiError, form: WithdrawalForm, catalogue: Catalogue) -> FormErrors:
    found = _errors_at_fields(error, form, catalogue)
    of_recipient = found.field_errors.keys() - OTHER_FIELDS
    if not form.has_chosen_recipient or not of_recipient:
        return found
    others = {name: message for name, message in found.field_errors.items() if name not in of_recipient}
    return FormErrors(found.message, {"to": CHOOSE_RECIPIENT} | others, found.status)


def _errors_at_fields(error: ApiError, form: WithdrawalForm, catalogue: Catalogue) -> FormErrors:
    at = "amount" if isinstance(error, AMOUNT_ERRORS) else "external_id" if isinstance(error, DuplicateExternalId) else ""
    texts = amount_texts(catalogue.currencies[form.method.currency], amount=form.values["amount"])
    return form_errors_of(error, form.values, at, texts)
