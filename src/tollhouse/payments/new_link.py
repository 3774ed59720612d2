"""The body of POST /payment-links, and everything that can be wrong with it, told at once."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import Meta, Struct

from tollhouse.catalogue.currencies import Currency, currency
from tollhouse.catalogue.methods import METHODS
from tollhouse.events.destination import check_destination_url
from tollhouse.kernel import limits
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.refusals import Fault, ValidationFailed
from tollhouse.payments.refusals import CurrencyNotSupported
from tollhouse.platform.config import Settings

CURRENCY_CODE = re.compile(r"[A-Z0-9]{2,12}")
METADATA_KEY = re.compile(r"[A-Za-z0-9_.-]{1,40}")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
AMOUNT_SCHEMA = {"type": "string", "description": "Decimal string above zero, at most `decimals` digits after the point."}


class NewLink(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant asks for. `max_payments` null: unlimited; left out: once."""

    display_name: str
    amount: Annotated[Any, Meta(extra_json_schema=AMOUNT_SCHEMA)]  # a number here is an invalid amount, like any other
    currency: str
    project_id: UUID | None = None
    webhook_url: str | None = None
    description: str | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None
    payment_method_ids: list[str] | None = None
    success_url: str | None = None
    cancel_url: str | None = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    max_payments: int | None = 1
    customer_email: str | None = None


class Priced(Struct, frozen=True):
    """The amount of a link, understood."""

    currency: Currency
    amount_minor: int


def check(new: NewLink, env: MerchantEnv, settings: Settings, now: datetime) -> Priced:
    """The price of an acceptable link. Raises `ValidationFailed` with every fault, else `CurrencyNotSupported`."""
    known = currency(new.currency)
    amount_minor = _amount(new.amount, known)
    faults = [
        *_text_faults(new),
        *_price_faults(new, known, amount_minor),
        *metadata_faults(new.metadata or {}),
        *_method_faults(new, env, amount_minor),
        *_url_faults(new, env, settings),
        *_bounds_faults(new, now),
    ]
    if faults:
        raise ValidationFailed(*faults)
    if known is None or not known.operations.payments:
        raise CurrencyNotSupported
    if amount_minor is None:
        raise AssertionError("an amount that cannot be read is a fault")
    return Priced(known, amount_minor)


def _amount(amount: Any, known: Currency | None) -> int | None:
    """Without a currency the amount is held against the finest scale, so that both can be refused at once."""
    return parse_amount(amount, known.decimals if known else 8) if isinstance(amount, str) else None


def _text_faults(new: NewLink) -> Iterator[Fault]:
    name = new.display_name.strip()
    if not 1 <= len(name) <= limits.LINK_NAME_CHARS_MAX or not name.isprintable():
        yield Fault("display_name", "invalid_value", "1 to 120 characters, none of them control characters.")
    if new.description is not None and (
        len(new.description) > limits.DESCRIPTION_CHARS_MAX or _has_controls(new.description)
    ):
        yield Fault("description", "invalid_value", "At most 1,000 characters, none of them control characters.")
    if new.external_id is not None and not (
        1 <= len(new.external_id) <= limits.EXTERNAL_ID_CHARS_MAX and new.external_id.isprintable()
    ):
        yield Fault("external_id", "invalid_value", "1 to 128 printable characters.")
    email = new.customer_email
    if email is not None and not (len(email) <= limits.EMAIL_CHARS_MAX and email.isprintable() and EMAIL.fullmatch(email)):
        yield Fault("customer_email", "invalid_email", "This is no e-mail address.")


def _price_faults(new: NewLink, known: Currency | None, amount_minor: int | None) -> Iterator[Fault]:
    if not CURRENCY_CODE.fullmatch(new.currency):
        yield Fault("currency", "invalid_currency", "A currency code is 2 to 12 capital letters and digits.")
    if amount_minor is None:
        digits = f"at most {known.decimals} digits after the point" if known else "at most 8 digits after the point"
        yield Fault("amount", "invalid_amount", f"A decimal string above zero with {digits}, such as 10.50.")


def metadata_faults(metadata: dict[str, str]) -> Iterator[Fault]:
    """What is wrong with the keys and values that a merchant attaches."""
    if len(metadata) > limits.METADATA_KEYS_MAX:
        yield Fault("metadata", "too_many", "At most 20 keys.")
    for key, value in metadata.items():
        if not METADATA_KEY.fullmatch(key):
            yield Fault("metadata", "invalid_key", "A key is 1 to 40 letters, digits, dots, dashes and underscores.")
        elif len(value) > limits.METADATA_VALUE_CHARS_MAX:
            yield Fault(f"metadata.{key}", "too_long", "At most 500 characters.")


def _method_faults(new: NewLink, env: MerchantEnv, amount_minor: int | None) -> Iterator[Fault]:
    chosen = new.payment_method_ids
    if chosen is None:
        return
    if not chosen or len(set(chosen)) < len(chosen):
        yield Fault("payment_method_ids", "invalid_value", "Name at least one method, each once.")
    for place, method_id in enumerate(chosen):
        method = METHODS.get(method_id)
        if method is None or (method.rail == "sandbox" and env.livemode) or method.asset != new.currency:
            yield Fault(f"payment_method_ids.{place}", "method_unavailable", "There is no such method for this currency.")
        elif amount_minor is not None and not method.takes(amount_minor):
            yield Fault(f"payment_method_ids.{place}", "amount_out_of_range", "The amount is outside this method's limits.")


def _url_faults(new: NewLink, env: MerchantEnv, settings: Settings) -> Iterator[Fault]:
    if new.webhook_url is not None:
        wrong = check_destination_url(new.webhook_url, livemode=env.livemode, settings=settings)
        if wrong is not None:
            yield Fault("webhook_url", "invalid_url", wrong)
    for field, url in (("success_url", new.success_url), ("cancel_url", new.cancel_url)):
        if url is not None and not _is_return_address(url, livemode=env.livemode):
            yield Fault(
                field, "invalid_url", "An https address (in test mode http too) without user name, at most 2,048 characters."
            )


def _bounds_faults(new: NewLink, now: datetime) -> Iterator[Fault]:
    if new.expires_at is not None:
        ahead = new.expires_at - now
        if not timedelta(seconds=limits.LINK_EXPIRY_S_MIN) <= ahead <= timedelta(seconds=limits.LINK_EXPIRY_S_MAX):
            yield Fault("expires_at", "out_of_range", "From 5 minutes to 365 days ahead.")
    if new.max_payments is not None and not 1 <= new.max_payments <= limits.LINK_PAYMENTS_MAX:
        yield Fault("max_payments", "out_of_range", "From 1 to 10,000, or null for no limit.")


def _has_controls(text: str) -> bool:
    return any(not char.isprintable() and char not in "\n\t" for char in text)


def _is_return_address(url: str, *, livemode: bool) -> bool:
    if len(url) > limits.URL_CHARS_MAX or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    schemes = {"https"} if livemode else {"https", "http"}
    return parts.scheme in schemes and bool(host) and "@" not in parts.netloc
