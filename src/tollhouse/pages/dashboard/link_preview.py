"""What the checkout will look like, beside the form of a payment link: a small picture, drawn with what has been entered."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tollhouse.accounts.environments.logos_model import shown_source
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.identity.model import Person
from tollhouse.http.services import Services
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import LINK_NAME_CHARS_MAX
from tollhouse.kernel.money import MINOR_MAX, parse_amount
from tollhouse.kernel.text import Text
from tollhouse.pages.dashboard.unpayable import warning_of
from tollhouse.payments.links.model import CustomerAmount, LinkCreator, PaymentLink
from tollhouse.payments.links.offers import load_prices, offers_for
from tollhouse.payments.links.payability import reason_with

FIELDS = ("display_name", "amount", "currency", "payment_method_ids")
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
    if code in services.catalogue.currencies:
        link = _draft(env, code, minor, entered.method_ids, now)
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


def _draft(env: MerchantEnv, currency: str, minor: int | None, method_ids: Sequence[str], now: datetime) -> PaymentLink:
    """A link with the entries so far, which is never stored. Without an amount, it takes any."""
    return PaymentLink(
        id=new_id(),
        display_name="",
        description=None,
        amount_minor=minor or 1,
        currency=currency,
        customer_amount=CustomerAmount(1, MINOR_MAX, None) if minor is None else None,
        project_id=new_id(),
        webhook_url=None,
        external_id=None,
        metadata={},
        payment_method_ids=tuple(method_ids) or None,
        success_url=None,
        cancel_url=None,
        customer_email=None,
        max_payments=1,
        created_by=LinkCreator("dashboard"),
        env=env,
        created_at=now,
        updated_at=now,
        expires_at=now + LIFETIME,
        token="",
    )


def _amount_minor(typed: str, code: str, catalogue: Catalogue) -> int | None:
    currency = catalogue.currencies.get(code)
    if currency is None or len(typed) > AMOUNT_CHARS_MAX:
        return None
    return parse_amount(read_amount(typed, currency), currency.decimals) or None
