"""Payment settings: request, validation, view, errors."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.accounts.environments.logos_model import stored_url
from tollhouse.accounts.environments.model import Address, ReturnAddress, is_web_address
from tollhouse.accounts.environments.payment_settings import (
    BLOCKS_MAX,
    BLOCKS_MIN,
    BRAND_CHARS_MAX,
    COLOR,
    PHONE,
    Branding,
    Finality,
    MethodChoice,
    PaymentSettings,
    Settlement,
)
from tollhouse.http.bodies import ValidationContext, documented
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import EMAIL_CHARS_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.text import Text

EXPIRY_MINUTES = (5, 525_600)
TOLERANCE_BPS = (0, 500)
MONITORING_DAYS = (1, 365)
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
VERSION_MAX = 2**31 - 1
MONITORING = (
    "Number of days after a link ends during which rails that poll check its address at the normal interval; after "
    "that, once a day. Rails that report payments themselves are not affected."
)
CONFIRMATIONS = (
    "Confirmations required by network: a number of blocks, or `finalized`. Networks that are not listed use the default of "
    "GET /currencies. The sandbox simulates the first network of a currency."
)
CURRENCIES = (
    "Currencies in which customers can pay links of another currency, at a rate that is fixed for 15 minutes. Methods by "
    "bank transfer are not offered for them."
)
SETTLEMENT = "What happens with such a payment: it is converted to the currency of the link, or kept in the currency paid."


Minutes = Annotated[int, documented(minimum=EXPIRY_MINUTES[0], maximum=EXPIRY_MINUTES[1]), example(1440)]
BasisPoints = Annotated[int, documented(minimum=TOLERANCE_BPS[0], maximum=TOLERANCE_BPS[1]), example(50)]
Days = Annotated[
    int, Meta(description=MONITORING), documented(minimum=MONITORING_DAYS[0], maximum=MONITORING_DAYS[1]), example(14)
]
Confirmations = Annotated[dict[str, Finality], Meta(description=CONFIRMATIONS), example({})]
AdditionalCurrencies = Annotated[list[str], Meta(description=CURRENCIES), documented(uniqueItems=True), example([])]
SettlementChoice = Annotated[Settlement, Meta(description=SETTLEMENT), example("convert")]


class NewSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of PUT /settings. `version` is the one that was read; methods that are not listed are enabled."""

    default_currency: str
    payment_methods: list[MethodChoice]
    """Methods to offer at checkout."""
    link_expiry_minutes: Minutes
    """Lifetime of new payment links that do not set one, in minutes."""
    underpayment_tolerance_bps: BasisPoints
    """How much of the amount may be missing, in hundredths of a percent."""
    overpayment: Literal["credit", "refund_required"]
    """What happens with a payment above the amount.

    credit: All of it is credited.
    refund_required: What is above the amount has to be refunded.
    """
    late_payments: Annotated[Literal["refund_required", "accept"], example("refund_required")]
    """What happens with money that arrives after the deadline.

    accept: The payment succeeds.
    refund_required: It has to be refunded.
    """
    late_monitoring_days: Days
    success_url: ReturnAddress | None = None
    cancel_url: Address | None = None
    branding: Branding
    """Logo, color and support contact of the hosted pages."""
    confirmations: Confirmations
    additional_currencies: AdditionalCurrencies = []
    settlement: SettlementChoice = "convert"
    version: Annotated[int, Meta(ge=-VERSION_MAX, le=VERSION_MAX)]

    def rule_errors(self, context: ValidationContext) -> list[FieldError]:
        """The errors of each field."""
        return self.field_errors(context.caller.env, context.catalogue, context.settings.base_url)

    def field_errors(self, env: MerchantEnv, catalogue: Catalogue, base_url: str) -> list[FieldError]:
        """The errors of each field."""
        return [
            *self._offer_errors(catalogue),
            *self._number_errors(),
            *self._address_errors(env),
            *_branding_errors(self.branding, base_url),
            *_confirmation_errors(self.confirmations, catalogue),
        ]

    def settings(self, base_url: str) -> PaymentSettings:
        """The settings to store."""
        stored: dict[str, Any] = msgspec.structs.asdict(self) | {
            "payment_methods": tuple(self.payment_methods),
            "branding": msgspec.structs.replace(self.branding, logo_url=stored_url(self.branding.logo_url, base_url)),
            "additional_currencies": tuple(self.additional_currencies),
        }
        return PaymentSettings(**stored)

    def _offer_errors(self, catalogue: Catalogue) -> Iterator[FieldError]:
        if self.default_currency not in catalogue.currencies:
            yield FieldError("default_currency", "invalid_currency", messages.A_CURRENCY)
        seen: set[str] = set()
        for place, choice in enumerate(self.payment_methods):
            if choice.method_id not in catalogue.methods:
                yield FieldError(f"payment_methods.{place}.method_id", "unknown_method", messages.A_PAYMENT_METHOD)
            elif choice.method_id in seen:
                yield FieldError(f"payment_methods.{place}.method_id", "duplicate", messages.NO_REPEAT)
            seen.add(choice.method_id)
        for place, code in enumerate(self.additional_currencies):
            currency = catalogue.currencies.get(code)
            if currency is None or not currency.operations.payments:
                yield FieldError(f"additional_currencies.{place}", "invalid_currency", messages.A_CURRENCY)
            elif code in self.additional_currencies[:place]:
                yield FieldError(f"additional_currencies.{place}", "duplicate", messages.NO_REPEAT)

    def _number_errors(self) -> Iterator[FieldError]:
        bounded = (
            ("link_expiry_minutes", self.link_expiry_minutes, EXPIRY_MINUTES),
            ("underpayment_tolerance_bps", self.underpayment_tolerance_bps, TOLERANCE_BPS),
            ("late_monitoring_days", self.late_monitoring_days, MONITORING_DAYS),
        )
        for name, number, (minimum, maximum) in bounded:
            if not minimum <= number <= maximum:
                yield FieldError(name, "out_of_range", messages.whole_number(minimum, maximum))

    def _address_errors(self, env: MerchantEnv) -> Iterator[FieldError]:
        for field, url in (("success_url", self.success_url), ("cancel_url", self.cancel_url)):
            if url is not None and not is_web_address(url, https_only=env.livemode):
                yield FieldError(field, "invalid_url", messages.A_RETURN_ADDRESS)


class SettingsView(Struct, frozen=True, kw_only=True):
    """The settings of an environment. `payment_methods` lists all its methods."""

    object: Literal["settings"] = "settings"
    default_currency: str
    payment_methods: list[MethodChoice]
    """Every method of the environment, with whether the checkout offers it."""
    link_expiry_minutes: Minutes
    """Lifetime of new payment links that do not set one, in minutes."""
    underpayment_tolerance_bps: BasisPoints
    """How much of the amount may be missing, in hundredths of a percent."""
    overpayment: Literal["credit", "refund_required"]
    """What happens with a payment above the amount."""
    late_payments: Annotated[Literal["refund_required", "accept"], example("refund_required")]
    """What happens with money that arrives after the deadline."""
    late_monitoring_days: Days
    success_url: str | None
    cancel_url: str | None
    branding: Branding
    """Logo, color and support contact of the hosted pages."""
    confirmations: Confirmations
    additional_currencies: AdditionalCurrencies
    settlement: SettlementChoice
    version: int
    updated_at: Timestamp | None
    supported_payment_methods: Annotated[list[str], example(["sandbox:EUR"])]
    """IDs of the methods that the service has."""
    webhook_signing_secret_configured: bool
    """Whether webhooks of this environment can be signed."""
    mode: Mode
    livemode: bool


class SettingsChanged(ApiError):
    """409: the settings were saved since this version was read."""

    code, status = "settings_changed", 409
    message = "The settings have changed. Retrieve them and try again."
    solution = "Read the settings again, apply your change to them, and send them with the new `version`."

    def __init__(self, version: int) -> None:
        super().__init__(members={"details": {"version": version}})


def _branding_errors(branding: Branding, base_url: str) -> Iterator[FieldError]:
    name, email, logo_url = branding.display_name, branding.support_email, branding.logo_url
    if name is not None and not (1 <= len(name.strip()) <= len(name) <= BRAND_CHARS_MAX and is_readable(name)):
        yield FieldError("branding.display_name", "invalid_value", messages.plain_text(1, BRAND_CHARS_MAX))
    is_uploaded = stored_url(logo_url, base_url) != logo_url
    if logo_url is not None and not is_uploaded and not is_web_address(logo_url, https_only=True):
        yield FieldError("branding.logo_url", "invalid_url", messages.AN_HTTPS_ADDRESS)
    if branding.accent_color is not None and not re.fullmatch(COLOR, branding.accent_color):
        yield FieldError("branding.accent_color", "invalid_value", messages.A_COLOR)
    if branding.support_phone is not None and not re.fullmatch(PHONE, branding.support_phone):
        yield FieldError("branding.support_phone", "invalid_value", messages.A_PHONE_NUMBER)
    if branding.support_url is not None and not is_web_address(branding.support_url, https_only=True):
        yield FieldError("branding.support_url", "invalid_url", messages.AN_HTTPS_ADDRESS)
    if email is not None and not (len(email) <= EMAIL_CHARS_MAX and is_readable(email) and EMAIL.fullmatch(email)):
        yield FieldError("branding.support_email", "invalid_email", messages.AN_EMAIL)


def _confirmation_errors(confirmations: dict[str, Finality], catalogue: Catalogue) -> Iterator[FieldError]:
    networks = {chain.network for currency in catalogue.currencies.values() for chain in currency.chains}
    for network, count in confirmations.items():
        if network not in networks:
            yield FieldError(f"confirmations.{network}", "unknown_network", messages.A_NETWORK)
        elif isinstance(count, int) and not BLOCKS_MIN <= count <= BLOCKS_MAX:
            yield FieldError(
                f"confirmations.{network}",
                "out_of_range",
                Text("From %(least)s to %(most)s blocks, or finalized.", least=BLOCKS_MIN, most=BLOCKS_MAX),
            )
