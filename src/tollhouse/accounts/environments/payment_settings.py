"""A merchant's payment settings in an environment."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.accounts.environments import settings_store
from tollhouse.accounts.environments.model import Address
from tollhouse.http.bodies import documented
from tollhouse.kernel.catalogue.currencies import Chain
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import EMAIL_CHARS_MAX
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.database.records import Array, Json, Record

BRAND_CHARS_MAX = 60
PHONE = r"\+?[0-9][0-9 ()/.-]{2,38}"
PHONE_CHARS_MAX = 40
COLOR = r"#[0-9A-Fa-f]{6}"
BLOCKS_MIN, BLOCKS_MAX = 1, 1_000
Blocks = Annotated[int, documented(minimum=BLOCKS_MIN, maximum=BLOCKS_MAX)]
Finality = Blocks | Literal["finalized"]
"""Confirmations required: a number of blocks, or the finality of the chain."""

Settlement = Literal["convert", "keep"]
"""What happens with money in another currency than its link's: it is converted to that currency, or kept.

convert: It is converted into the currency of the link.
keep: It stays in the currency that was paid.
"""

ShopName = Annotated[
    str, Meta(description="Replaces the business name."), documented(minLength=1, maxLength=BRAND_CHARS_MAX)
]
LogoAddress = Annotated[
    Address,
    Meta(
        description="An image that the customer's browser loads. HTTPS only. A logo that was uploaded in the dashboard has "
        "the URL at which the service shows it."
    ),
]
Color = Annotated[
    str,
    Meta(description="The accent color of the page and its main button. The button text is black or white, for contrast."),
    documented(pattern=f"^{COLOR}$"),
]
SupportEmail = Annotated[
    str,
    Meta(description="The support address documented to customers."),
    documented(format="email", maxLength=EMAIL_CHARS_MAX),
]


SupportPhone = Annotated[
    str,
    Meta(description="The support phone number shown to customers."),
    documented(maxLength=PHONE_CHARS_MAX, pattern=f"^{PHONE}$"),
]
SupportAddress = Annotated[Address, Meta(description="The support page shown to customers. HTTPS only.")]


class MethodChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a method is enabled. Methods that are not listed are enabled."""

    method_id: str
    enabled: bool


class Branding(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The branding of the checkout page."""

    display_name: Annotated[ShopName | None, example("Corner Shop")] = None
    logo_url: LogoAddress | None = None
    accent_color: Annotated[Color | None, example("#1a6b4f")] = None
    support_email: SupportEmail | None = None
    support_phone: Annotated[SupportPhone | None, example("+49 30 901820")] = None
    support_url: SupportAddress | None = None

    @property
    def stylesheet(self) -> str | None:
        """The path of the stylesheet with the accent color, as `pages/checkout/pages.py` serves it; None without a color."""
        return None if self.accent_color is None else f"/pay/brand/{self.accent_color[1:].lower()}.css"


class PaymentSettings(Struct, frozen=True, kw_only=True):
    """All settings. The defaults are version 1."""

    default_currency: str = "EUR"
    payment_methods: Json[tuple[MethodChoice, ...]] = ()
    link_expiry_minutes: int = 1440
    underpayment_tolerance_bps: int = 50
    overpayment: Literal["credit", "refund_required"] = "credit"
    late_payments: Literal["refund_required", "accept"] = "refund_required"
    late_monitoring_days: int = 14
    success_url: str | None = None
    cancel_url: str | None = None
    branding: Json[Branding] = Branding()
    confirmations: Json[dict[str, Finality]] = {}
    additional_currencies: Array[tuple[str, ...]] = ()
    settlement: Settlement = "convert"
    version: int = 1
    updated_at: datetime | None = None

    def offers(self, method_id: str) -> bool:
        """Whether the method is enabled."""
        return all(choice.enabled for choice in self.payment_methods if choice.method_id == method_id)

    def finality(self, chain: Chain) -> Finality:
        """The confirmations for this chain: the merchant's setting, else the catalogue's."""
        default = chain.confirmations
        return self.confirmations.get(chain.network, "finalized" if default == "finalized" else int(default))


SETTINGS = Record(PaymentSettings, "merchant_settings")


async def of(db: Pool | Tx, env: MerchantEnv) -> PaymentSettings:
    """The settings of this merchant in this environment."""
    row = await settings_store.get(db, env)
    return PaymentSettings() if row is None else of_row(row)


async def save(tx: Tx, env: MerchantEnv, new: PaymentSettings, now: datetime) -> PaymentSettings | None:
    """Replace the settings if `new.version` is current; None otherwise."""
    version = await settings_store.save(tx, env, SETTINGS.values(msgspec.structs.replace(new, updated_at=now)))
    return None if version is None else msgspec.structs.replace(new, version=version, updated_at=now)


def of_row(row: Row) -> PaymentSettings:
    """The settings of a row; the defaults if their columns are NULL."""
    return PaymentSettings() if row["version"] is None else SETTINGS.read(row)
