"""The dashboard's pages about conversions: the list, one of them, and a new one.

What is confirmed is a quote, and a quote is used once: so a form that is posted twice converts once.
"""

from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.catalogue.currencies import CURRENCIES, format_amount
from tollhouse.conversions import actions, store
from tollhouse.conversions.errors import PairUnavailable
from tollhouse.conversions.new_conversion import NewConversion, NewQuote
from tollhouse.conversions.store import ConversionFilter
from tollhouse.conversions.views import conversion_view, quote_view
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.forms import Form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.ledger.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.ledger.store import list_balances
from tollhouse.orders.errors import AmountAboveMaximum, AmountBelowMinimum, QuoteAlreadyUsed, QuoteExpired

OPERATIONS = Operations(PAGES)
FIELDS = ("from_currency", "to_currency", "amount", "to_amount", "external_id", "webhook_url")
OF_THE_AMOUNT = (AmountBelowMinimum, AmountAboveMaximum, InsufficientFunds, BalanceLimitExceeded)
LOOK_AGAIN = "The quote was not kept any longer. This is a new one: look again before you confirm."


class ConversionsPage(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?currency=&page=` of the page of conversions: either of the two. Empty is no filter."""

    currency: str = ""


class Typed(Struct, frozen=True):
    """What stands in the form: what is given, or what is wanted."""

    values: dict[str, str]

    @property
    def new_quote(self) -> NewQuote:
        """The quote that is asked for."""
        return NewQuote(
            from_currency=self.values["from_currency"],
            to_currency=self.values["to_currency"],
            amount=self.values["amount"] or None,
            to_amount=self.values["to_amount"] or None,
        )

    def conversion(self, quote_id: UUID) -> NewConversion:
        """The conversion that is asked for."""
        external_id, webhook_url = self.values["external_id"] or None, self.values["webhook_url"] or None
        return NewConversion(quote_id=quote_id, external_id=external_id, webhook_url=webhook_url)


@OPERATIONS.add("GET", "/{mode}/conversions", guard=signed_in_page)
async def conversions(request: Request, caller: Person, mode: str, query: ConversionsPage) -> Response:
    """Conversions, newest first; of one currency, where the address says so."""
    env = caller.env(mode)
    wanted = ConversionFilter(currency=query.currency or None)
    shown, more = query.cut(await store.listed(request.services.db, env, wanted, query.window))
    return page(
        request,
        "conversions/list.html",
        person=caller,
        mode=env.mode,
        here="conversions",
        conversions=[conversion_view(one) for one in shown],
        query=query,
        currencies=currencies(),
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/conversions/new", guard=signed_in_page)
async def fill_in(request: Request, caller: Person, mode: str) -> Response:
    """The form for a new conversion."""
    return await _form(request, caller, caller.env(mode), _typed(Form([])))


@OPERATIONS.add("POST", "/{mode}/conversions/new", guard=signed_in_page)
async def review(request: Request, caller: Person, mode: str) -> Response:
    """What it brings, to be confirmed; or the form again, with what is wrong in it."""
    env = caller.env(mode)
    form = request.form()
    if form.one("change"):
        return await _form(request, caller, env, _typed(form))
    return await _review(request, caller, env, _typed(form))


@OPERATIONS.add("POST", "/{mode}/conversions/new/confirm", guard=signed_in_page)
async def confirm(request: Request, caller: Person, mode: str) -> Response:
    """Convert as it was quoted."""
    env, services = caller.env(mode), request.services
    form = request.form()
    quote_id, typed = parse_id(form.one("quote_id") or ""), _typed(form)
    if quote_id is None:
        return await _review(request, caller, env, typed)
    new = typed.conversion(quote_id)
    try:
        made_id = (await services.db.transact(lambda tx: actions.convert(tx, env, new, services, request.now))).id
    except ApiError as error:
        # Whatever stands against a second one, the first click may have made it.
        earlier_id = await store.id_of_quote(services.db, env, quote_id)
        if earlier_id is None and isinstance(error, QuoteExpired | QuoteAlreadyUsed | NotFound):
            return await _review(request, caller, env, typed, LOOK_AGAIN)
        if earlier_id is None:
            return await _form(request, caller, env, typed, _said(error, typed))
        made_id = earlier_id
    return see_other(f"/{env.mode}/conversions/{made_id}")


@OPERATIONS.add("GET", "/{mode}/conversions/{conversion_id}", guard=signed_in_page)
async def conversion(request: Request, caller: Person, mode: str, conversion_id: UUID) -> Response:
    """One conversion: what was given and got, at what rate."""
    env = caller.env(mode)
    found = await store.one(request.services.db, env, conversion_id)
    if found is None:
        raise NotFound
    shown = conversion_view(found)
    return page(
        request,
        "conversions/one.html",
        person=caller,
        mode=env.mode,
        here="conversions",
        conversion=shown,
        by_rule=shown.rule_id,
    )


def _typed(form: Form) -> Typed:
    amounts = {name: form.amount(name) for name in ("amount", "to_amount")}
    return Typed({name: form.one(name) or "" for name in FIELDS} | amounts)


def currencies() -> list[tuple[str, str]]:
    """The currencies that can be converted, with their names."""
    return [(code, f"{code}, {known.name}") for code, known in CURRENCIES.items() if known.operations.conversions]


async def _review(request: Request, person: Person, env: MerchantEnv, typed: Typed, message: str = "") -> Response:
    try:
        quote = await request.services.db.transact(lambda tx: actions.offer(tx, env, typed.new_quote, request.now))
    except ApiError as error:
        return await _form(request, person, env, typed, _said(error, typed))
    return page(
        request,
        "conversions/review.html",
        409 if message else 200,
        person=person,
        mode=env.mode,
        here="conversions",
        quote=quote_view(quote),
        typed=typed.values,
        message=message,
    )


async def _form(
    request: Request, person: Person, env: MerchantEnv, typed: Typed, form_errors: FormErrors = NO_ERRORS
) -> Response:
    there = [
        (one.currency, one.available_minor)
        for one in await list_balances(request.services.db, env)
        if one.available_minor > 0
    ]
    return page(
        request,
        "conversions/new.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="conversions",
        currencies=currencies(),
        there=[(format_amount(minor, code), code) for code, minor in there],
        typed=typed.values,
        form_errors=form_errors,
    )


def _said(error: ApiError, typed: Typed) -> FormErrors:
    at = ""
    if isinstance(error, OF_THE_AMOUNT):
        at = "amount" if typed.values["amount"] else "to_amount"
    elif isinstance(error, PairUnavailable):
        at = "to_currency"
    return form_errors_of(error, FIELDS, at, {("amount", "invalid_value"): "Fill in one of the two amounts."})
