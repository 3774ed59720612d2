"""Dashboard pages of conversions: list, details, and the form. A quote is used once, so a repeated form converts once."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of
from tollhouse.http.lists import LongPageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.text import Text, Translatable
from tollhouse.ledger.books.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.ledger.books.store import list_balances
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions import actions, store
from tollhouse.transfers.conversions.actions import NewConversion, NewConversionQuote, current_exchange, parse_quote
from tollhouse.transfers.conversions.model import PairUnavailable
from tollhouse.transfers.conversions.store import ConversionsQuery
from tollhouse.transfers.conversions.views import conversion_quote_view, conversion_view
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, QuoteAlreadyUsed, QuoteExpired


class ConversionSummary(Struct, frozen=True):
    """Decimal strings, empty until enough is entered; or `message` says why not. Without `balance_after` it is too low."""

    from_currency: str = ""
    from_amount: str = ""
    fee: str = ""
    rate: str = ""
    to_currency: str = ""
    to_amount: str = ""
    balance_after: str = ""
    message: Translatable = ""


async def summarize(
    db: Pool, env: MerchantEnv, new: NewConversionQuote, available: Mapping[str, int], now: datetime, catalogue: Catalogue
) -> ConversionSummary:
    """The summary of what was typed, at the current rate. `available`: the available minor units by currency."""
    try:
        amount = parse_quote(new, catalogue)
        async with db.connection() as tx:
            exchange = await current_exchange(tx, env, amount, now, catalogue)
    except ValidationFailed:
        return ConversionSummary()
    except ApiError as error:
        return ConversionSummary(message=error.message)
    given, got = catalogue.currencies[exchange.from_currency], catalogue.currencies[exchange.to_currency]
    left_minor = available.get(given.code, 0) - exchange.from_amount_minor
    return ConversionSummary(
        from_currency=given.code,
        from_amount=given.format(exchange.from_amount_minor),
        fee=given.format(exchange.fee_minor),
        rate=exchange.rate.text,
        to_currency=got.code,
        to_amount=got.format(exchange.to_amount_minor),
        balance_after=given.format(left_minor) if left_minor >= 0 else "",
    )


OPERATIONS = Operations(PAGES)
FIELDS = ("from_currency", "to_currency", "amount", "to_amount", "external_id", "webhook_url")
AMOUNT_ERRORS = (AmountBelowMinimum, AmountAboveMaximum, InsufficientFunds, BalanceLimitExceeded)
QUOTE_RENEWED = "The quote has expired. Review the new amounts before you confirm."


class ConversionsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?currency=&page=` of the list. The currency matches either of the two; empty is no filter."""

    currency: str = ""


class TypedConversion(Struct, frozen=True, forbid_unknown_fields=True):
    """The query of the form: its script requests the summary of what is being typed."""

    from_currency: str = ""
    to_currency: str = ""
    amount: str = ""
    to_amount: str = ""


class ConversionForm(Struct, frozen=True):
    """The values of the form: the amount to convert, or the amount to receive."""

    values: dict[str, str]

    def new_quote(self, currencies: Mapping[str, Currency]) -> NewConversionQuote:
        """The quote to create."""
        given, got = self.values["from_currency"], self.values["to_currency"]
        return NewConversionQuote(
            from_currency=given,
            to_currency=got,
            amount=read_amount(self.values["amount"], currencies.get(given)) or None,
            to_amount=read_amount(self.values["to_amount"], currencies.get(got)) or None,
        )

    def new_conversion(self, quote_id: UUID) -> NewConversion:
        """The conversion to create."""
        external_id, webhook_url = self.values["external_id"] or None, self.values["webhook_url"] or None
        return NewConversion(quote_id=quote_id, external_id=external_id, webhook_url=webhook_url)


@OPERATIONS.add("GET", "/{mode}/conversions", guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: ConversionsPageQuery) -> Response:
    """The list of conversions, newest first."""
    filters = ConversionsQuery(currency=query.currency or None)
    found, more = query.cut(await store.list_conversions(request.services.db, env, filters, query.window))
    return render(
        request,
        caller,
        "conversions/list",
        here="conversions",
        conversions=[conversion_view(conversion, request.services.catalogue) for conversion in found],
        query=query,
        saved=await load_saved_filters(request, caller, env, "conversions", query),
        currencies=currency_options(request.services.catalogue),
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/conversions/new", guard=signed_in_page("money"))
async def fill_in(request: Request, caller: Person, env: MerchantEnv, query: TypedConversion) -> Response:
    """The form for a new conversion."""
    return await _form(request, caller, env, _parse_form(Form(list(msgspec.structs.asdict(query).items()))))


@OPERATIONS.add("POST", "/{mode}/conversions/new", guard=signed_in_page("money"), recent_authentication="live")
async def review(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """The amounts to confirm, or the form with its errors."""
    form = _parse_form(request.form())
    if request.form().one("change"):
        return await _form(request, caller, env, form)
    return await _review(request, caller, env, form)


@OPERATIONS.add("POST", "/{mode}/conversions/new/confirm", guard=signed_in_page("money"), recent_authentication="live")
async def confirm(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Convert as quoted."""
    services = request.services
    form = _parse_form(request.form())
    quote_id = parse_id(request.form().one("quote_id") or "")
    if quote_id is None:
        return await _review(request, caller, env, form)
    new = form.new_conversion(quote_id)
    try:
        created_id = (await request.transact(lambda work: actions.convert(work, env, new))).id
    except ApiError as error:
        # Whatever the error is, an earlier request may have created the conversion.
        created_id = await store.id_by_quote(services.db, env, quote_id)
        if created_id is None and isinstance(error, QuoteExpired | QuoteAlreadyUsed | NotFound):
            return await _review(request, caller, env, form, QUOTE_RENEWED)
        if created_id is None:
            return await _form(request, caller, env, form, _form_errors(error, form, request.services.catalogue))
    return see_other(f"/{env.mode}/conversions/{created_id}")


@OPERATIONS.add("GET", "/{mode}/conversions/{conversion_id}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, env: MerchantEnv, conversion_id: UUID) -> Response:
    """A conversion: amounts, fee, rate."""
    found = await store.get(request.services.db, env, conversion_id)
    return render(
        request, caller, "conversions/one", here="conversions", conversion=conversion_view(found, request.services.catalogue)
    )


def _parse_form(posted: Form) -> ConversionForm:
    return ConversionForm({name: posted.one(name) or "" for name in FIELDS})


def currency_options(catalogue: Catalogue) -> list[tuple[str, Text]]:
    """The currencies that can be converted."""
    return [(currency.code, currency.label) for currency in catalogue.currencies.values() if currency.operations.conversions]


async def _review(request: Request, person: Person, env: MerchantEnv, form: ConversionForm, message: str = "") -> Response:
    catalogue = request.services.catalogue
    try:
        new = form.new_quote(catalogue.currencies)
        quote = await request.services.db.transact(
            lambda tx: actions.quote(tx, env, new, request.now, catalogue, check_funds=True)
        )
    except ApiError as error:
        return await _form(request, person, env, form, _form_errors(error, form, request.services.catalogue))
    return render(
        request,
        person,
        "conversions/review",
        409 if message else 200,
        here="conversions",
        quote=conversion_quote_view(quote, catalogue),
        now=stamp(quote.expires_at - actions.QUOTE_VALID_FOR),
        values=form.values,
        message=message,
    )


async def _form(
    request: Request, person: Person, env: MerchantEnv, form: ConversionForm, form_errors: FormErrors = NO_ERRORS
) -> Response:
    db, catalogue = request.services.db, request.services.catalogue
    available = {
        balance.currency: balance.available_minor for balance in await list_balances(db, env) if balance.available_minor > 0
    }
    return render(
        request,
        person,
        "conversions/new",
        here="conversions",
        currencies=currency_options(catalogue),
        available=[(catalogue.format_amount(minor, code), code) for code, minor in available.items()],
        summary=await summarize(db, env, form.new_quote(catalogue.currencies), available, request.now, catalogue),
        values=form.values,
        form_errors=form_errors,
    )


def _form_errors(error: ApiError, form: ConversionForm, catalogue: Catalogue) -> FormErrors:
    at = ""
    if isinstance(error, AMOUNT_ERRORS):
        at = "amount" if form.values["amount"] else "to_amount"
    elif isinstance(error, PairUnavailable):
        at = "to_currency"
    given, got = (catalogue.currencies.get(form.values[name]) for name in ("from_currency", "to_currency"))
    texts = amount_texts(given, amount=form.values["amount"])
    texts |= amount_texts(got, to_amount=form.values["to_amount"])
    return form_errors_of(error, FIELDS, at, {("amount", "invalid_value"): "Enter one of the two amounts."} | texts)
