"""Creates payment links and changes their expiry: the bodies, their validation, and the actions."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.environments.model import Address, ReturnAddress, is_web_address
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.identity.emails import require_verified_email
from tollhouse.accounts.identity.model import Person
from tollhouse.http.bodies import ValidationContext, documented, reference_errors
from tollhouse.http.forms import FormField, form_fields
from tollhouse.http.services import Work
from tollhouse.kernel import limits, messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.names import is_readable
from tollhouse.payments.links import store
from tollhouse.payments.links.customer_choices import (
    CustomerAmountRequest,
    QuantityRequest,
    customer_amount_errors,
    quantity_errors,
    suggested_minor,
    to_customer_amount,
    to_quantity,
)
from tollhouse.payments.links.line_items import (
    LineItemRequest,
    TaxLineRequest,
    line_item_errors,
    tax_line_errors,
    to_line_items,
    to_tax_lines,
    total_minor,
)
from tollhouse.payments.links.model import (
    NO_OFFSET,
    CustomerAmount,
    LineItem,
    LinkCreator,
    PaymentLink,
    QuantityRange,
    TaxLine,
    UnpayableReason,
    new_link_token,
)
from tollhouse.payments.links.offers import lifetime_min, reason_with
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.orders.errors import CurrencyNotSupported, InvalidProject, InvalidState
from tollhouse.webhooks.events.destination import check_destination_url

CURRENCY_CODE = re.compile(r"[A-Z0-9]{2,12}")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
RETURN_HINT = "Customers return here after paying. {PAYMENT_LINK_ID} and {TRANSACTION_ID} are replaced."
SHOWN_TO = timedelta(milliseconds=1)
"""The precision of times in the API: an expiry that a client read and sends back is no change."""


class LinkRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The request body. `max_payments`: null is unlimited; the default is one.

    `amount` is required without `line_items` and `customer_amount`.
    """

    display_name: Annotated[str, documented(minLength=1, maxLength=limits.LINK_NAME_CHARS_MAX), example("Coffee")]
    """Name of what you sell. Customers see it on the checkout page and on the receipt."""
    amount: Annotated[Amount, example("4.20")] = msgspec.field(default_factory=lambda: UNSET)
    currency: Annotated[str, documented(pattern=f"^{CURRENCY_CODE.pattern}$")]
    tax_lines: Annotated[list[TaxLineRequest], documented(maxItems=limits.TAX_LINES_MAX)] = []
    """Taxes that the amount includes, as they are shown to customers."""
    line_items: Annotated[list[LineItemRequest], documented(maxItems=limits.LINE_ITEMS_MAX)] = []
    """What is sold, line by line, as customers see it. They add up to the amount."""
    quantity: QuantityRequest | None = None
    """How many customers can buy with one payment. The amount is the price of one."""
    customer_amount: CustomerAmountRequest | None = None
    """The amounts that customers can choose, instead of an amount."""
    project_id: UUID | None = None
    """ID of an approved project, which sells. Can be omitted if you have only one."""
    webhook_url: Annotated[Address | None, example("https://shop.example/hooks/tollhouse")] = None
    description: Annotated[
        Annotated[str, documented(maxLength=limits.DESCRIPTION_CHARS_MAX)] | None,
        FormField("Description", "textarea", "Shown below the name."),
    ] = None
    """Text below the name on the checkout page."""
    external_id: Annotated[str, documented(minLength=1, maxLength=limits.EXTERNAL_ID_CHARS_MAX)] | None = None
    """Your own reference, such as an order number. Receipts show it to the customer."""
    metadata: Annotated[dict[str, str], documented(maxProperties=limits.METADATA_KEYS_MAX)] | None = None
    payment_method_ids: Annotated[list[str], documented(minItems=1, uniqueItems=True)] | None = None
    success_url: Annotated[ReturnAddress | None, FormField("Success URL", "url", RETURN_HINT)] = None
    cancel_url: Annotated[Address | None, FormField("Cancel URL", "url")] = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    """When the link expires. If omitted, the lifetime in your payment settings applies."""
    max_payments: Annotated[int, documented(minimum=1, maximum=limits.LINK_PAYMENTS_MAX)] | None = 1
    """Number of payments that the link accepts. Null is unlimited."""
    customer_email: Annotated[
        Annotated[str, documented(format="email", maxLength=limits.EMAIL_CHARS_MAX)] | None,
        FormField("Customer's email", "email"),
    ] = None
    """Email address of the customer, who gets the receipt by email after paying."""

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Yield every invalid field. The expiry in test mode is validated later, against the test clock."""
        env: MerchantEnv = context.caller.env
        return list_errors(self, env, context.settings, context.now if env.livemode else None, context.catalogue)


class LinkExpiryRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /payment-links/{id}/expiry. Its bounds depend on the test clock and are checked with the link."""

    expires_at: Annotated[datetime, Meta(tz=True)]


OPTIONAL_TEXTS = form_fields(LinkRequest)
"""The members with a field in the form that a link stores as they are sent."""


class LinkPrice(Struct, frozen=True):
    """The parsed price of a link, the taxes that it includes, what it is the sum of, and what customers can choose."""

    currency: Currency
    amount_minor: int
    tax_lines: tuple[TaxLine, ...]
    line_items: tuple[LineItem, ...]
    quantity: QuantityRange | None
    customer_amount: CustomerAmount | None


def check(new: LinkRequest, env: MerchantEnv, settings: Settings, now: datetime, catalogue: Catalogue) -> LinkPrice:
    """Return the price. Raises `ValidationFailed` with every invalid field, else `CurrencyNotSupported`."""
    known = catalogue.currencies.get(new.currency)
    amount_minor = _amount_minor(new, known)
    field_errors = list(list_errors(new, env, settings, now, catalogue))
    if field_errors:
        raise ValidationFailed(*field_errors)
    if known is None or not known.operations.payments:
        raise CurrencyNotSupported
    if amount_minor is None:
        raise AssertionError("an amount that cannot be read is a fault")
    return LinkPrice(
        known,
        amount_minor,
        to_tax_lines(new.tax_lines, known),
        to_line_items(new.line_items, known),
        to_quantity(new.quantity),
        to_customer_amount(new.customer_amount, known),
    )


def expiry_errors(expires_at: datetime, now: datetime) -> Iterator[FieldError]:
    """Yield the error of an expiry that is too soon or too late; `now` is the time of the test clock."""
    if not timedelta(seconds=limits.LINK_EXPIRY_S_MIN) <= expires_at - now <= timedelta(seconds=limits.LINK_EXPIRY_S_MAX):
        yield FieldError("expires_at", "out_of_range", messages.A_LINK_EXPIRY)


def list_errors(
    new: LinkRequest, env: MerchantEnv, settings: Settings, now: datetime | None, catalogue: Catalogue
) -> Iterator[FieldError]:
    """Yield every invalid field; `now` is the time of the test clock; None: the expiry is not compared with it."""
    known = catalogue.currencies.get(new.currency)
    amount_minor = _amount_minor(new, known)
    yield from _text_errors(new)
    yield from _price_errors(new, known, amount_minor)
    yield from _amount_errors(new, known, amount_minor)
    yield from reference_errors(external_id=new.external_id, metadata=new.metadata, description=new.description)
    yield from _method_errors(new, known, env, amount_minor, catalogue)
    yield from _url_errors(new, env, settings)
    yield from _bounds_errors(new, now)


def _amount_minor(new: LinkRequest, known: Currency | None) -> int | None:
    """The amount in minor units; None if it is invalid. If it is omitted, it follows from the line items or the choice."""
    if new.amount is not UNSET:
        return minor_of(new.amount, known)
    return total_minor(new.line_items, known) if new.customer_amount is None else suggested_minor(new.customer_amount, known)


def _amount_errors(new: LinkRequest, known: Currency | None, amount_minor: int | None) -> Iterator[FieldError]:
    """Yield the errors of what the amount consists of, or follows from."""
    has_amount = new.amount is not UNSET
    fixed = {"tax_lines": bool(new.tax_lines), "line_items": bool(new.line_items), "quantity": new.quantity is not None}
    yield from customer_amount_errors(new.customer_amount, known, has_amount=has_amount, fixed=fixed)
    if new.customer_amount is None:
        yield from tax_line_errors(new.tax_lines, known, amount_minor)
        yield from line_item_errors(new.line_items, known, amount_minor, has_amount=has_amount)
        yield from quantity_errors(new.quantity, amount_minor, has_items=bool(new.line_items))


def _amount_range(new: LinkRequest, known: Currency | None, amount_minor: int | None) -> tuple[int, int] | None:
    """The least and the largest amount of a payment; None if they are invalid."""
    if new.customer_amount is not None:
        least, most = minor_of(new.customer_amount.min, known), minor_of(new.customer_amount.max, known)
        return None if least is None or most is None else (least, most)
    if amount_minor is None:
        return None
    return (
        (amount_minor * new.quantity.min, amount_minor * new.quantity.max) if new.quantity else (amount_minor, amount_minor)
    )


def _text_errors(new: LinkRequest) -> Iterator[FieldError]:
    name = new.display_name.strip()
    if not 1 <= len(name) <= limits.LINK_NAME_CHARS_MAX or not is_readable(name):
        yield FieldError("display_name", "invalid_value", messages.plain_text(1, limits.LINK_NAME_CHARS_MAX))
    email = new.customer_email
    if email is not None and not (len(email) <= limits.EMAIL_CHARS_MAX and is_readable(email) and EMAIL.fullmatch(email)):
        yield FieldError("customer_email", "invalid_email", messages.AN_EMAIL)


def _price_errors(new: LinkRequest, known: Currency | None, amount_minor: int | None) -> Iterator[FieldError]:
    if not CURRENCY_CODE.fullmatch(new.currency):
        yield FieldError("currency", "invalid_currency", messages.A_CURRENCY_CODE)
    if new.amount is UNSET:
        if not new.line_items and new.customer_amount is None:
            yield FieldError("amount", "missing", messages.REQUIRED)
    elif amount_minor is None:
        yield amount_error(known)


def _method_errors(
    new: LinkRequest, known: Currency | None, env: MerchantEnv, amount_minor: int | None, catalogue: Catalogue
) -> Iterator[FieldError]:
    chosen, amounts = new.payment_method_ids, _amount_range(new, known, amount_minor)
    if chosen is None:
        return
    if not chosen or len(set(chosen)) < len(chosen):
        yield FieldError("payment_method_ids", "invalid_value", "List at least one payment method, each only once.")
    for place, method_id in enumerate(chosen):
        method = catalogue.methods.get(method_id)
        of_another = method is not None and known is not None and method.asset != known.code
        if method is None or of_another or (method.mode == "test" and env.livemode):
            yield FieldError(f"payment_method_ids.{place}", "method_unavailable", messages.A_METHOD_OF_CURRENCY)
        elif amounts is not None and not method.takes_any(*amounts):
            yield FieldError(f"payment_method_ids.{place}", "amount_out_of_range", messages.A_METHOD_OF_AMOUNT)


def _url_errors(new: LinkRequest, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    if new.webhook_url is not None:
        form_errors = check_destination_url(new.webhook_url, livemode=env.livemode, settings=settings)
        if form_errors is not None:
            yield FieldError("webhook_url", "invalid_url", form_errors)
    for field, url in (("success_url", new.success_url), ("cancel_url", new.cancel_url)):
        if url is not None and not is_web_address(url, https_only=env.livemode):
            yield FieldError(field, "invalid_url", messages.A_RETURN_ADDRESS)


def _bounds_errors(new: LinkRequest, now: datetime | None) -> Iterator[FieldError]:
    if new.expires_at is not None and now is not None:
        yield from expiry_errors(new.expires_at, now)
    if new.max_payments is not None and not 1 <= new.max_payments <= limits.LINK_PAYMENTS_MAX:
        yield FieldError("max_payments", "out_of_range", messages.whole_number_or_null(1, limits.LINK_PAYMENTS_MAX))


async def open_link(
    work: Work, env: MerchantEnv, new: LinkRequest, created_by: LinkCreator, person: Person | None = None
) -> tuple[PaymentLink, UnpayableReason | None]:
    """Create a payment link, also one that nobody can pay now; the second value says why.

    `person` is set when a dashboard user creates it.

    Without a deadline in the request, the lifetime is that of the settings; in the dashboard, long enough for the methods.

    Raises `ValidationFailed`, `CurrencyNotSupported`, `EmailUnverified` and `InvalidProject`.
    """
    terms = await store.get_terms(work.tx, env, new.project_id)
    offset = terms.clock_offset
    priced = check(new, env, work.services.settings, work.now + offset, work.services.catalogue)
    await require_verified_email(work.tx, work.services.settings, env, person)
    if terms.project_id is None:
        raise InvalidProject
    # Nothing below this line may refuse.
    usual = work.now + offset + timedelta(minutes=terms.settings.link_expiry_minutes)
    opened = LinkOrigin(env, terms.project_id, created_by, work.now, new.expires_at or usual, offset)
    link = to_link(new, priced, opened)
    if new.expires_at is None and created_by.type == "dashboard":
        link = _with_long_lifetime(link, terms.settings, work)
    await store.insert(work.tx, link)
    return link, await reason_with(work.tx, link, terms.settings, work.services, work.now)


class LinkOrigin(Struct, frozen=True):
    """Where and when a link is opened, until when, and the offset of the test clock."""

    env: MerchantEnv
    project_id: UUID
    created_by: LinkCreator
    now: datetime
    expires_at: datetime
    clock_offset: timedelta = NO_OFFSET


def to_link(new: LinkRequest, priced: LinkPrice, opened: LinkOrigin) -> PaymentLink:
    """The link of a request. It is not stored."""
    return PaymentLink(
        id=new_id(),
        env=opened.env,
        token=new_link_token(),
        project_id=opened.project_id,
        display_name=new.display_name.strip(),
        amount_minor=priced.amount_minor,
        currency=priced.currency.code,
        tax_lines=priced.tax_lines,
        line_items=priced.line_items,
        quantity=priced.quantity,
        customer_amount=priced.customer_amount,
        webhook_url=new.webhook_url,
        external_id=new.external_id,
        metadata=new.metadata or {},
        payment_method_ids=None if new.payment_method_ids is None else tuple(new.payment_method_ids),
        max_payments=new.max_payments,
        created_by=opened.created_by,
        created_at=opened.now,
        updated_at=opened.now,
        expires_at=opened.expires_at,
        clock_offset=opened.clock_offset,
        **{name: getattr(new, name) for name in OPTIONAL_TEXTS},
    )


def _with_long_lifetime(link: PaymentLink, settings: PaymentSettings, work: Work) -> PaymentLink:
    """The link with a lifetime that is long enough for its payment methods."""
    least = lifetime_min(link, settings, work.services.rails, work.services.catalogue)
    return msgspec.structs.replace(link, expires_at=max(link.expires_at, work.now + link.clock_offset + least))


async def change_expiry(work: Work, env: MerchantEnv, link_id: UUID, expires_at: datetime) -> PaymentLink:
    """Change when an active link expires; the expiry that it has changes nothing.

    The bounds are those of a new link, from now on by the test clock. The lock of the link orders the change with payments
    and with the job that expires links.

    Raises `NotFound`, `InvalidState` and `ValidationFailed`.
    """
    link = await store.lock(work.tx, env, link_id)
    status = link.status_at(work.now)
    if status != "active":
        raise InvalidState(status)
    if abs(expires_at - link.expires_at) < SHOWN_TO:
        return link
    field_errors = list(expiry_errors(expires_at, work.now + link.clock_offset))
    if field_errors:
        raise ValidationFailed(*field_errors)
    # Nothing below this line may refuse.
    await store.set_expiry(work.tx, link, expires_at, work.now)
    changed = msgspec.structs.replace(link, expires_at=expires_at, updated_at=work.now, version=link.version + 1)
    fields = changes({"expires_at": link.expires_at}, {"expires_at": expires_at})
    await record.event(work, env, "payment_link.expiry_changed", subject=link_id, name=link.display_name, changed=fields)
    return changed
