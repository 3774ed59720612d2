"""The operators' page that adjusts a merchant's balance: alone up to a threshold, and with a second operator above it."""

from collections.abc import Mapping
from typing import get_args
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.approvals import store as decisions_store
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError, Reviewer
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.console import actions, store
from tollhouse.pages.console.layout import read_reason, render
from tollhouse.pages.console.model import Merchant
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
CREDIT, DEBIT = "credit", "debit"
FIELDS = ("mode", "direction", "currency", "amount")
DEFAULTS = {"mode": "live", "direction": CREDIT, "currency": "EUR", "amount": ""}


class OpenAdjustment(Struct, frozen=True):
    """An adjustment that one operator has approved and that waits for the second one."""

    mode: Mode
    currency: str
    amount: str
    operator: str
    reason: str | None
    given_at: Timestamp
    is_mine: bool


async def list_open(db: Pool, merchant_id: MerchantId, caller: Operator, catalogue: Catalogue) -> list[OpenAdjustment]:
    """The adjustments of a merchant that wait for a second operator."""
    found: list[OpenAdjustment] = []
    for one in await decisions_store.list_open(db, "adjustment", merchant_id):
        mode, currency, minor = one.terms.split(" ")
        amount = catalogue.format_amount(int(minor), currency)
        is_mine = Reviewer(caller.email).is_among((one.operator,))
        environment: Mode = "live" if mode == "live" else "test"
        found.append(OpenAdjustment(environment, currency, amount, one.operator, one.reason, one.given_at, is_mine))
    return found


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/adjust", guard=operator_page)
async def adjust_page(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """The form, and what waits for a second operator."""
    return await _page(request, caller, merchant_id)


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/adjust", guard=operator_page)
async def adjust(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Credit or debit the merchant's balance, or approve that as the first of two operators."""
    form, catalogue = request.form(), request.services.catalogue
    values = {name: (form.one(name) or "").strip() for name in FIELDS}
    reason, error = read_reason(request)
    field_errors: dict[str, Translatable] = {"reason": error} if error else {}
    if values["mode"] not in get_args(Mode):
        field_errors["mode"] = messages.A_CHOICE
    if values["direction"] not in {CREDIT, DEBIT}:
        field_errors["direction"] = messages.A_CHOICE
    currency = catalogue.currencies.get(values["currency"])
    amount_minor = None
    if currency is None:
        field_errors["currency"] = messages.A_CHOICE
    else:
        amount_minor = _read_minor(values["amount"], currency, field_errors)
    if field_errors or currency is None or amount_minor is None:
        return await _page(request, caller, merchant_id, 422, values=values | {"reason": reason}, field_errors=field_errors)
    env = MerchantEnv(MerchantId(merchant_id), "live" if values["mode"] == "live" else "test")
    signed_minor = amount_minor if values["direction"] == CREDIT else -amount_minor
    context = OperatorContext(caller.email, request.now, reason)
    try:
        done = await request.transact(lambda work: actions.adjust(work, env, currency, signed_minor, context))
    except OperatorRefusedError as refused:
        return await _page(request, caller, merchant_id, 409, values=values | {"reason": reason}, message=refused.notice)
    path = f"/operator/merchants/{merchant_id}"
    is_open = done.action == "adjustment_approved"
    return see_other(f"{path}/adjust" if is_open else f"{path}?action={done.action_id}")


def _read_minor(typed: str, currency: Currency, field_errors: dict[str, Translatable]) -> int | None:
    """The amount in minor units; None, and its error, if it is not one above zero."""
    wrong = amount_texts(currency, amount=typed)
    amount_minor = None if wrong else parse_amount(read_amount(typed, currency), currency.decimals)
    if not amount_minor:
        text = Text("Enter an amount above zero.")
        field_errors["amount"] = next(iter(wrong.values()), text)
    return amount_minor or None


async def _page(
    request: Request,
    caller: Operator,
    merchant_id: UUID,
    status: int = 200,
    *,
    values: Mapping[str, str] | None = None,
    field_errors: Mapping[str, Translatable] | None = None,
    message: Translatable = "",
) -> Response:
    services = request.services
    merchant: Merchant | None = await store.merchant(services.db, merchant_id)
    if merchant is None:
        raise NotFound
    return await render(
        request,
        caller,
        "adjust",
        status,
        here="merchants",
        merchant=merchant,
        waiting=await list_open(services.db, MerchantId(merchant_id), caller, services.catalogue),
        currencies=[(code, code) for code in services.catalogue.currencies],
        values=DEFAULTS | {"reason": ""} | dict(values or {}),
        field_errors=field_errors or {},
        message=message,
        single_operator=not services.settings.two_operators,
    )
