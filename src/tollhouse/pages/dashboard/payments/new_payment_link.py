"""The dashboard's form for a new payment link, with a preview. A hidden key makes a repeated submit create one link."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec import UNSET, Struct
from starlette.responses import Response

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments import store as projects
from tollhouse.accounts.environments.availability import offers
from tollhouse.accounts.environments.logos_model import image_origin, shown_source
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.idempotency.claims import IdempotencyKeyReused, create_once
from tollhouse.accounts.identity.emails import EmailUnverified
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of, parse_form
from tollhouse.http.lists import all_rows
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Services, Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.methods import Method, ShownFees, fees_of
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.ids import new_id, new_id_text, parse_id
from tollhouse.kernel.limits import LINK_NAME_CHARS_MAX
from tollhouse.kernel.money import MINOR_MAX, parse_amount
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.dashboard.go_live import go_live_state
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.payments.link_form import (
    CHOICE_FIELDS,
    ITEM_FIELDS,
    LIMIT_FIELDS,
    PRICE_FIELDS,
    ROWS,
    TAX_FIELDS,
    at_choice_form,
    at_form,
    at_item_form,
    rate_errors,
    typed_customer_amount,
    typed_items,
    typed_quantity,
    typed_tax,
    warning_of,
)
from tollhouse.payments.links import line_items, new_link
from tollhouse.payments.links.model import CustomerAmount, LinkCreator, PaymentLink
from tollhouse.payments.links.new_link import OPTIONAL_TEXTS, LinkOrigin, LinkPrice, LinkRequest, list_errors, to_link
from tollhouse.payments.links.offers import load_prices, offers_for, reason_with
from tollhouse.payments.links.views import PROJECTS_SHOWN, currency_choices, method_choices
from tollhouse.transfers.orders.store import clock_offset

PREVIEW_FIELDS = ("display_name", "amount", "currency", "payment_method_ids")
AMOUNT_CHARS_MAX = 40
LIFETIME = timedelta(hours=1)


class LinkPreview(Struct, frozen=True):
    """The merchant as customers see it, and the entries so far. `amount` is empty if it cannot be read.

    `methods` are those that the checkout will offer; `warning` says why it will have none.
    """

    shop: str
    logo: str | None
    sheet: str | None
    name: str
    amount: str
    currency: str
    methods: list[Method]
    warning: Text | None


class PreviewEntries(Struct, frozen=True):
    """What has been entered."""

    values: Mapping[str, str]
    method_ids: Sequence[str]


async def load_preview(
    person: Person, env: MerchantEnv, settings: PaymentSettings, entered: PreviewEntries, services: Services, now: datetime
) -> LinkPreview:
    """The preview with these entries."""
    branding, code = settings.branding, entered.values["currency"]
    minor = _amount_minor(entered.values["amount"], code, services.catalogue)
    methods: list[Method] = []
    warning = None
    if currency := services.catalogue.currencies.get(code):
        link = _draft(env, currency, minor, entered.method_ids, now)
        warning = warning_of(await reason_with(services.db, link, settings, services, now), code)
        current = await load_prices(services.db, link, settings, now)
        offered = offers_for(link, settings, services.rails, services.catalogue, current)
        methods = [offer.method for offer in offered if offer.available or (minor is None and warning is None)]
    return LinkPreview(
        branding.display_name or person.business_name,
        shown_source(branding.logo_url),
        branding.stylesheet,
        entered.values["display_name"].strip()[:LINK_NAME_CHARS_MAX],
        services.catalogue.format_amount(minor, code) if minor else "",
        code,
        methods,
        warning,
    )


def _draft(env: MerchantEnv, currency: Currency, minor: int | None, method_ids: Sequence[str], now: datetime) -> PaymentLink:
    """A link with the entries so far, which is never stored. Without an amount, it takes any."""
    new = LinkRequest(display_name="", currency=currency.code, payment_method_ids=list(method_ids) or None)
    any_amount = CustomerAmount(1, MINOR_MAX, None) if minor is None else None
    priced = LinkPrice(currency, minor or 1, (), (), None, any_amount)
    return to_link(new, priced, LinkOrigin(env, new_id(), LinkCreator("dashboard"), now, now + LIFETIME))


def _amount_minor(typed: str, code: str, catalogue: Catalogue) -> int | None:
    currency = catalogue.currencies.get(code)
    if currency is None or len(typed) > AMOUNT_CHARS_MAX:
        return None
    return parse_amount(read_amount(typed, currency), currency.decimals) or None


OPERATIONS = Operations(PAGES)
FIELDS = (
    "display_name",
    "amount",
    "currency",
    "project_id",
    "expires",
    "max_payments",
    *ITEM_FIELDS,
    *CHOICE_FIELDS,
    *TAX_FIELDS,
    *OPTIONAL_TEXTS,
    "external_id",
    "webhook_url",
)
FOLDED_FIELDS = (*TAX_FIELDS, *OPTIONAL_TEXTS)
METHODS_FIELD = "payment_method_ids"
LIFETIMES: dict[str, tuple[timedelta, str]] = {
    "1h": (timedelta(hours=1), "In an hour"),
    "1d": (timedelta(days=1), "In a day"),
    "7d": (timedelta(days=7), "In a week"),
    "30d": (timedelta(days=30), "In 30 days"),
    "90d": (timedelta(days=90), "In 90 days"),
    "365d": (timedelta(days=365), "In a year"),
}
SPEEDS = {"instant": "Arrives at once.", "minutes": "Takes minutes.", "days": "Takes up to a few days."}
TIMES_DIGITS_MAX = 6
ALREADY = "This form has already created a payment link. Submit it again to create another one."


class LinkMethodOption(Struct, frozen=True):
    """A payment method to choose, with its fees and how fast it is."""

    id: str
    label: Translatable
    currency: str
    fees: ShownFees
    speed: str


class LinkForm(Struct, frozen=True):
    """The values of the form. No payment method checked: all methods of the currency."""

    values: dict[str, str]
    methods: list[str]

    def to_request(self, now: datetime, catalogue: Catalogue) -> LinkRequest:
        """Convert the form to a request; `now` is the time of the test clock. Raises `ValidationFailed`."""
        values = self.values
        times = values["max_payments"]
        known = times.isascii() and times.isdigit() and len(times) <= TIMES_DIGITS_MAX
        optional_texts: dict[str, Any] = {name: values[name] or None for name in OPTIONAL_TEXTS}
        currency = catalogue.currencies.get(values["currency"])
        items = typed_items(values, currency)
        total_minor = None if values["amount"].strip() else line_items.total_minor(items, currency)
        amount = values["amount"] if total_minor is None or currency is None else currency.format(total_minor)
        customer_amount = typed_customer_amount(values, currency)
        return LinkRequest(
            display_name=values["display_name"],
            amount=UNSET if customer_amount or (items and not amount) else read_amount(amount, currency),
            currency=values["currency"],
            tax_lines=typed_tax({**values, "amount": amount}, currency),
            line_items=items,
            quantity=typed_quantity(values),
            customer_amount=customer_amount,
            project_id=parse_id(values["project_id"]),
            expires_at=now + LIFETIMES[values["expires"]][0] if values["expires"] else None,
            max_payments=(int(times) if known else 0) if times else None,
            payment_method_ids=self.methods or None,
            external_id=values["external_id"] or None,
            webhook_url=values["webhook_url"] or None,
            **optional_texts,
        )


@OPERATIONS.add("GET", "/{mode}/payment-links/new", guard=signed_in_page("payments"))
async def show_form(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """The form, with one payment and the default currency preset. The preview shows the entries in the query."""
    settings = await payment_settings.of(request.services.db, env)
    first = {"currency": settings.default_currency, "max_payments": "1"}
    asked = parse_form(request.query)
    values = {name: asked.one(name) or first.get(name, "") for name in ("display_name", "amount", "currency")}
    entered = PreviewEntries(values, asked.all(METHODS_FIELD))
    return await _form(request, caller, env, _typed(Form(list(first.items()))), entered=entered)


@OPERATIONS.add("POST", "/{mode}/payment-links/new", guard=signed_in_page("payments"), errors=(EmailUnverified,))
async def make(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Create the link, or show the form again with its errors."""
    form = request.form()
    typed = _typed(form)
    key = form.one("key") or ""
    if parse_id(key) is None:
        return await _form(request, caller, env, typed)

    async def action(work: Work) -> UUID:
        async def open_link() -> UUID:
            now = request.now + await clock_offset(work.tx, env)
            new = typed.to_request(now, work.services.catalogue)
            if of_form := rate_errors(typed.values):
                raise ValidationFailed(
                    *of_form, *list_errors(new, env, work.services.settings, now, work.services.catalogue)
                )
            link, _ = await new_link.open_link(work, env, new, LinkCreator("dashboard"), caller)
            return link.id

        return await create_once(work, env, key, (request.path, typed), open_link)

    try:
        made_id = await request.transact(action)
    except IdempotencyKeyReused as error:
        return await _form(request, caller, env, typed, FormErrors(ALREADY, status=error.status))
    except EmailUnverified:
        raise
    except ApiError as error:
        currency = request.services.catalogue.currencies.get(typed.values["currency"])
        prices = {name: typed.values[name] for name in (*PRICE_FIELDS, *LIMIT_FIELDS)}
        texts = amount_texts(currency, amount=typed.values["amount"], **prices)
        at_fields = at_choice_form(at_item_form(at_form(error), typed.values))
        return await _form(request, caller, env, typed, form_errors_of(at_fields, (*FIELDS, METHODS_FIELD), "", texts), key)
    return see_other(f"/{env.mode}/payment-links/{made_id}")


def _typed(form: Form) -> LinkForm:
    values = {name: (form.one(name) or "").replace("\r\n", "\n") for name in FIELDS}
    if values["expires"] and values["expires"] not in LIFETIMES:
        raise ValidationFailed(FieldError("expires", "invalid_value", messages.A_CHOICE))
    if values["project_id"] and parse_id(values["project_id"]) is None:
        raise ValidationFailed(FieldError("project_id", "invalid_value", messages.A_PROJECT))
    return LinkForm(values, form.all(METHODS_FIELD))


def _slow_methods(env: MerchantEnv, settings: PaymentSettings, services: Services) -> list[tuple[Translatable, int]]:
    """The methods with which the default lifetime is longer than that of the settings, and the days that it is then."""
    offered = (offer.method for offer in offers(env.mode, settings, services.rails, services.catalogue) if offer.available)
    usual = timedelta(minutes=settings.link_expiry_minutes)
    least = ((method.label, services.rails.times(method.rail, env.mode).link_lifetime_min) for method in offered)
    return [(label, lifetime.days) for label, lifetime in least if lifetime > usual]


def _methods(env: MerchantEnv, catalogue: Catalogue) -> list[LinkMethodOption]:
    found = (catalogue.methods[method_id] for method_id, _ in method_choices(env, catalogue))
    return [
        LinkMethodOption(
            method.method_id,
            method.label,
            method.asset,
            fees_of(method.fees, catalogue.currencies[method.asset]),
            SPEEDS[method.confirmation],
        )
        for method in found
    ]


def _is_filled(fields: Iterable[str], typed: LinkForm, form_errors: FormErrors) -> bool:
    """Whether one of these fields is filled in or wrong, so that the part of the form with them is open."""
    return any(typed.values[name] or name in form_errors.field_errors for name in fields)


async def _form(
    request: Request,
    person: Person,
    env: MerchantEnv,
    typed: LinkForm,
    form_errors: FormErrors = NO_ERRORS,
    key: str = "",
    *,
    entered: PreviewEntries | None = None,
) -> Response:
    db = request.services.db
    approved = await projects.approved(db, env, all_rows(PROJECTS_SHOWN))
    settings = await payment_settings.of(db, env)
    return render(
        request,
        person,
        "payment_links/new_link",
        image_origin=image_origin(settings.branding.logo_url),
        preview=await load_preview(
            person, env, settings, entered or PreviewEntries(typed.values, typed.methods), request.services, request.now
        ),
        live_fields=PREVIEW_FIELDS,
        here="payment-links",
        key=key or new_id_text(),
        projects=[(str(project.id), project.name) for project in approved],
        going_live=await go_live_state(db, env, person),
        currencies=currency_choices(request.services.catalogue),
        methods=_methods(env, request.services.catalogue),
        lifetimes=[(name, words) for name, (_, words) in LIFETIMES.items()],
        usual_minutes=settings.link_expiry_minutes,
        slow_methods=_slow_methods(env, settings, request.services),
        optional_texts=OPTIONAL_TEXTS,
        item_rows=ROWS,
        choice_opened=_is_filled(CHOICE_FIELDS, typed, form_errors),
        items_opened=_is_filled(ITEM_FIELDS, typed, form_errors),
        opened=bool(
            typed.methods or METHODS_FIELD in form_errors.field_errors or _is_filled(FOLDED_FIELDS, typed, form_errors)
        ),
        typed=typed.values,
        ticked=typed.methods,
        form_errors=form_errors,
    )
