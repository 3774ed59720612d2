"""The operators' pages about merchants: list, detail, suspension, adjustments of balances, and the search for payments."""

from functools import partial
from typing import Annotated, Literal, get_args
from uuid import UUID

from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.accounts.approvals import store as decisions_store
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, Reviewer
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.bank_codes import creditor_references, parse_iban
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode, parse_id
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable
from tollhouse.ledger.books.store import list_balances
from tollhouse.pages.console import actions, payments_store, store
from tollhouse.pages.console.layout import (
    NEW,
    ActionQuery,
    ActionSubject,
    FormState,
    Load,
    Show,
    add_confirmed_actions,
    decide,
    render,
)
from tollhouse.pages.console.store import Merchant
from tollhouse.payments.refunds import chargeback_responses_store
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
PROJECTS_SHOWN = 50
ACTIONS_SHOWN = 50
CHARGEBACKS_SHOWN = 20
MODES: tuple[Mode, ...] = ("live", "test")


class MerchantsQuery(PageQuery, frozen=True):
    """Filters of the merchant list; `search` matches names, email addresses and ids."""

    search: Annotated[str, Meta(max_length=254)] = ""
    status: Literal["", "active", "suspended"] = ""


@OPERATIONS.add("GET", "/operator/merchants", guard=operator_page)
async def merchants(request: Request, caller: Operator, query: MerchantsQuery) -> Response:
    """Merchants, newest first."""
    found = await store.merchants(
        request.services.db, status=query.status, search=query.search.strip(), limit=query.fetch, offset=query.offset
    )
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "merchants",
        here="merchants",
        merchants=rows,
        actions=actions.OF_MERCHANTS,
        query=query,
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}", guard=operator_page)
async def merchant(request: Request, caller: Operator, merchant_id: UUID, query: ActionQuery) -> Response:
    """One merchant with its users, balances, projects and history."""
    return await _merchant(request, caller, merchant_id, query.state)


def _subject(request: Request, caller: Operator) -> tuple[Load, Show]:
    merchant_id = parse_id(request.params["merchant_id"])
    if merchant_id is None:
        raise NotFound

    async def load() -> ActionSubject:
        found = await store.merchant(request.services.db, merchant_id)
        if found is None:
            raise NotFound
        return ActionSubject("merchants", MerchantId(merchant_id), found.business_name, found.status)

    return load, partial(_merchant, request, caller, merchant_id)


add_confirmed_actions(OPERATIONS, "/operator/merchants/{merchant_id}", actions.OF_MERCHANTS, _subject)


async def _merchant(request: Request, caller: Operator, merchant_id: UUID, state: FormState) -> Response:
    db = request.services.db
    found = await store.merchant(db, merchant_id)
    if found is None:
        raise NotFound
    owner = MerchantId(merchant_id)
    return await render(
        request,
        caller,
        "merchant",
        state,
        here="merchants",
        merchant=found,
        actions=actions.OF_MERCHANTS,
        emails=await store.emails_of(db, owner),
        balances=[(mode, balance) for mode in MODES for balance in await list_balances(db, MerchantEnv(owner, mode))],
        projects=await store.projects_of(db, owner, PROJECTS_SHOWN),
        waiting=await decisions_store.list_open(db, "adjustment", owner),
        chargebacks=await chargeback_responses_store.list_open(db, owner, CHARGEBACKS_SHOWN),
        history=await store.actions_of_merchant(db, owner, ACTIONS_SHOWN),
        amount=request.services.catalogue.format_amount,
    )


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
    for decision in await decisions_store.list_open(db, "adjustment", merchant_id):
        mode, currency, minor = decision.terms.split(" ")
        amount = catalogue.format_amount(int(minor), currency)
        is_mine = Reviewer(caller.email).is_among((decision.operator,))
        environment: Mode = "live" if mode == "live" else "test"
        found.append(
            OpenAdjustment(environment, currency, amount, decision.operator, decision.reason, decision.given_at, is_mine)
        )
    return found


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/adjust", guard=operator_page)
async def adjust_page(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """The form, and what waits for a second operator."""
    return await _page(request, caller, merchant_id, NEW)


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/adjust", guard=operator_page)
async def adjust(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Credit or debit the merchant's balance, or approve that as the first of two operators."""
    form, catalogue = request.form(), request.services.catalogue
    values = {name: (form.one(name) or "").strip() for name in FIELDS}
    wrong: dict[str, Translatable] = {}
    if values["mode"] not in get_args(Mode):
        wrong["mode"] = messages.A_CHOICE
    if values["direction"] not in {CREDIT, DEBIT}:
        wrong["direction"] = messages.A_CHOICE
    currency = catalogue.currencies.get(values["currency"])
    amount_minor = 0
    if currency is None:
        wrong["currency"] = messages.A_CHOICE
    else:
        amount_minor = _read_minor(values["amount"], currency, wrong)
    env = MerchantEnv(MerchantId(merchant_id), "live" if values["mode"] == "live" else "test")
    signed_minor = amount_minor if values["direction"] == CREDIT else -amount_minor

    async def action(work: Work, context: OperatorContext) -> OperatorAction:
        return await actions.adjust(work, env, catalogue.currencies[values["currency"]], signed_minor, context)

    def after(done: OperatorAction) -> str:
        path = f"/operator/merchants/{merchant_id}"
        return f"{path}/adjust" if done.action == "adjustment_approved" else f"{path}?action={done.action_id}"

    show = partial(_page, request, caller, merchant_id)
    return await decide(request, caller, show, action, after, entered={"values": values}, wrong=wrong)


def _read_minor(typed: str, currency: Currency, wrong: dict[str, Translatable]) -> int:
    """The amount in minor units; zero, and its error, if it is not one above zero."""
    texts = amount_texts(currency, amount=typed)
    amount_minor = None if texts else parse_amount(read_amount(typed, currency), currency.decimals)
    if not amount_minor:
        wrong["amount"] = next(iter(texts.values()), Text("Enter an amount above zero."))
    return amount_minor or 0


async def _page(request: Request, caller: Operator, merchant_id: UUID, state: FormState) -> Response:
    services = request.services
    merchant: Merchant | None = await store.merchant(services.db, merchant_id)
    if merchant is None:
        raise NotFound
    return await render(
        request,
        caller,
        "adjust",
        state,
        here="merchants",
        merchant=merchant,
        waiting=await list_open(services.db, MerchantId(merchant_id), caller, services.catalogue),
        currencies=[(code, code) for code in services.catalogue.currencies],
        values=DEFAULTS,
        single_operator=not services.settings.two_operators,
    )


class PaymentSearchQuery(PageQuery, frozen=True):
    """`search`: an ID, a reference, an account, or the beginning of a name, email address or external ID."""

    search: Annotated[str, Meta(max_length=254)] = ""


@OPERATIONS.add("GET", "/operator/payments", guard=operator_page)
async def payments(request: Request, caller: Operator, query: PaymentSearchQuery) -> Response:
    """Payments of all merchants, newest first."""
    services, text = request.services, query.search.strip()
    if text:
        rails = {method.rail for method in services.catalogue.methods.values()}
        found = await payments_store.search(services.db, services.catalogue, wanted(text), rails, query.fetch, query.offset)
    else:
        found = await payments_store.list_newest(services.db, services.catalogue, query.fetch, query.offset)
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "payments",
        here="payments",
        payments=rows,
        query=query,
        newest=payments_store.NEWEST_SEARCHED,
        page_links=query.links(rows, more=more),
    )


def wanted(text: str) -> payments_store.Wanted:
    """What this text can be."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    references = {text, *creditor_references(text)}
    return payments_store.Wanted(parse_id(text), references, parse_iban(text) or text, f"{escaped}%")
