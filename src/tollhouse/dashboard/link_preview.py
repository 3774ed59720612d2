"""What the checkout will look like, beside the form of a payment link: a small picture, drawn with what has been entered."""

from collections.abc import Mapping

from msgspec import Struct

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.catalogue.typed_amounts import read_amount
from tollhouse.environments.logos_model import shown_source
from tollhouse.environments.payment_settings import Branding
from tollhouse.kernel.limits import LINK_NAME_CHARS_MAX
from tollhouse.kernel.money import parse_amount

FIELDS = ("display_name", "amount", "currency")
AMOUNT_CHARS_MAX = 40


class LinkPreview(Struct, frozen=True):
    """The merchant as customers see it, and the entries so far. `amount` is empty if it cannot be read."""

    shop: str
    logo: str | None
    sheet: str | None
    name: str
    amount: str
    currency: str


def preview_of(branding: Branding, business_name: str, entered: Mapping[str, str], catalogue: Catalogue) -> LinkPreview:
    """The preview with these entries."""
    return LinkPreview(
        branding.display_name or business_name,
        shown_source(branding.logo_url),
        branding.stylesheet,
        entered["display_name"].strip()[:LINK_NAME_CHARS_MAX],
        _amount(entered["amount"], entered["currency"], catalogue),
        entered["currency"],
    )


def _amount(typed: str, code: str, catalogue: Catalogue) -> str:
    currency = catalogue.currencies.get(code)
    if currency is None or len(typed) > AMOUNT_CHARS_MAX:
        return ""
    minor = parse_amount(read_amount(typed, currency), currency.decimals)
    return catalogue.format_amount(minor, code) if minor else ""
