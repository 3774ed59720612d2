"""The payment methods offered at checkout, with the amounts to pay; why others, or a whole link, are unavailable."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.availability import MethodRequirements, offers
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.http.services import Services
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.methods import Method, UnavailableReason
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.registry import Rails
from tollhouse.payments.links.model import CheckoutPrice, PaymentLink, UnpayableReason
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions import payments, prices
from tollhouse.transfers.conversions.model import PricedAmount
from tollhouse.transfers.conversions.prices import Price

HIDDEN: frozenset[UnavailableReason] = frozenset({"not_in_environment", "disabled_by_merchant", "disabled_by_operator"})
NEAREST_FIRST: tuple[UnpayableReason, ...] = (
    "amount_out_of_range",
    "rate_unavailable",
    "provider_down",
    "disabled_by_merchant",
    "provider_not_configured",
    "disabled_by_operator",
)
Reasons = dict[UUID, UnpayableReason | None]


class CurrentPrices(Struct, frozen=True):
    """The prices of the currencies in which a link can be paid, at `now`."""

    known: Mapping[str, Price]
    now: datetime


class LinkOffer(Struct, frozen=True):
    """A method for a link, and why it is unavailable. `priced`: what to pay in another currency than that of the link."""

    method: Method
    unavailable_reason: UnavailableReason | None
    priced: PricedAmount | None = None

    @property
    def available(self) -> bool:
        """Whether customers can use it."""
        return self.unavailable_reason is None


async def load_prices(db: Pool | Tx, link: PaymentLink, settings: PaymentSettings, now: datetime) -> CurrentPrices | None:
    """The prices for the link; None if it can be paid in its own currency only."""
    others = frozenset(settings.additional_currencies) - {link.currency}
    if not others:
        return None
    return CurrentPrices(await prices.list_prices(db, link.env.mode, others | {link.currency}, now), now)


def offers_for(
    link: PaymentLink,
    settings: PaymentSettings,
    rails: Rails,
    catalogue: Catalogue,
    current: CurrentPrices | None = None,
    price: CheckoutPrice | None = None,
) -> list[LinkOffer]:
    """The methods for a payment of a link; with prices, those of additional currencies after its own.

    `price` is what the payment costs, by default what the link suggests.
    """
    price_minor = (price or link.suggested_price).amount_minor
    every = _every_offer(link, settings, rails, catalogue, current, price_minor)
    return [offer for offer in every if offer.unavailable_reason not in HIDDEN]


def find_unpayable_reason(
    link: PaymentLink, settings: PaymentSettings, rails: Rails, catalogue: Catalogue, current: CurrentPrices | None = None
) -> UnpayableReason | None:
    """Why the checkout of an active link has no method to pay by, whatever price the customer chooses; None if it has one.

    Of several reasons, it is that of the method with the least in its way.
    """
    reasons: set[UnavailableReason] = set()
    for price_minor in _prices(link, catalogue):
        for offer in _every_offer(link, settings, rails, catalogue, current, price_minor):
            if offer.unavailable_reason is None:
                return None
            reasons.add(offer.unavailable_reason)
    for reason in NEAREST_FIRST:
        if reason in reasons:
            return reason
    return "no_method"


def lifetime_min(link: PaymentLink, settings: PaymentSettings, rails: Rails, catalogue: Catalogue) -> timedelta:
    """The least default lifetime of the link: that of the slowest rail by which it can be paid."""
    offered = (offer.method.rail for offer in offers_for(link, settings, rails, catalogue) if offer.available)
    return max((rails.times(name, link.env.mode).link_lifetime_min for name in offered), default=timedelta())


def _every_offer(
    link: PaymentLink,
    settings: PaymentSettings,
    rails: Rails,
    catalogue: Catalogue,
    current: CurrentPrices | None,
    price_minor: int,
) -> Iterator[LinkOffer]:
    """The methods of the currency of the link, then of others, with those that the checkout does not show."""
    requirements = MethodRequirements(link.currency, price_minor)
    for offer in offers(link.env.mode, settings, rails, catalogue, requirements):
        if offer.method.asset == link.currency and _is_chosen(link, offer.method):
            yield LinkOffer(offer.method, offer.unavailable_reason)
    if current is not None:
        yield from _in_other_currencies(link, settings, rails, catalogue, current, price_minor)


def _prices(link: PaymentLink, catalogue: Catalogue) -> Iterator[int]:
    """Prices with which a method can be found that takes one of those that the customer can choose.

    For methods of the currency of the link, the first that is not below their minimum. For those of other currencies, prices
    that double: their largest amount is at least twice their smallest.
    """
    yield link.suggested_price.amount_minor
    if not link.is_price_chosen:
        return
    least, most = link.amount_range
    step = 1 if link.quantity is None else link.amount_minor
    for method in catalogue.methods.values():
        if method.asset == link.currency:
            yield min(most, least + max(0, -(-(method.minimum_minor - least) // step)) * step)
    price_minor = least
    while price_minor < most:
        yield price_minor
        price_minor = least + (2 * price_minor - least) // step * step
    yield most


def _in_other_currencies(
    link: PaymentLink,
    settings: PaymentSettings,
    rails: Rails,
    catalogue: Catalogue,
    current: CurrentPrices,
    price_minor: int,
) -> Iterator[LinkOffer]:
    """Methods of additional currencies. Bank transfers take days, for which no rate is fixed."""
    expires_at = min(link.expires_at, current.now + link.clock_offset + payments.RATE_VALID_FOR)
    for offer in offers(link.env.mode, settings, rails, catalogue):
        method, reason = offer.method, offer.unavailable_reason
        is_other = method.asset != link.currency and method.asset in settings.additional_currencies
        if not is_other or method.type == "bank_transfer" or not _is_chosen(link, method):
            continue
        price = (link.currency, price_minor)
        fixed = payments.fix_rate(method, price, settings.settlement, current.known, current.now, expires_at, catalogue)
        if isinstance(fixed, str):
            yield LinkOffer(method, reason or fixed)
        else:
            yield LinkOffer(method, reason, fixed)


def _is_chosen(link: PaymentLink, method: Method) -> bool:
    return link.payment_method_ids is None or method.method_id in link.payment_method_ids


async def load_reason(
    db: Pool | Tx, link: PaymentLink, services: Services, now: datetime, *, is_suspended: bool = False
) -> UnpayableReason | None:
    """Why nobody can pay the link now; None if customers can."""
    return (await load_reasons(db, link.env, [link], services, now, is_suspended=is_suspended))[link.id]


async def load_reasons(
    db: Pool | Tx,
    env: MerchantEnv,
    links: Sequence[PaymentLink],
    services: Services,
    now: datetime,
    *,
    is_suspended: bool = False,
) -> Reasons:
    """Why nobody can pay each of these links now, by ID. Nothing is read for links that are not active."""
    reasons: Reasons = {link.id: "account_suspended" if is_suspended else "not_active" for link in links}
    active = [link for link in links if link.status_at(now) == "active"]
    reasons |= {link.id: "not_active" for link in links if link not in active}
    if not active or is_suspended:
        return reasons
    settings = await payment_settings.of(db, env)
    for link in active:
        reasons[link.id] = await reason_with(db, link, settings, services, now)
    return reasons


async def reason_with(
    db: Pool | Tx, link: PaymentLink, settings: PaymentSettings, services: Services, now: datetime
) -> UnpayableReason | None:
    """Why nobody can pay an active link with these settings. Reads prices only if its own currency does not do."""
    reason = find_unpayable_reason(link, settings, services.rails, services.catalogue)
    current: CurrentPrices | None = None if reason is None else await load_prices(db, link, settings, now)
    return reason if current is None else find_unpayable_reason(link, settings, services.rails, services.catalogue, current)
