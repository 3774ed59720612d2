"""The Integration API's endpoints for currencies, payment methods and projects."""

from collections.abc import Iterator
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.environments import payment_settings, store
from tollhouse.accounts.environments.availability import MethodRequirements, Offer, offers
from tollhouse.accounts.environments.model import Project
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.identity.guards import any_credential, scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.lists import CataloguePageRequest, CatalogueQuery, ListPageRequest, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Chain, Currency, CurrencyOperations
from tollhouse.kernel.catalogue.methods import Fees, MethodType, UnavailableReason
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.registry import Rails
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.orders.errors import InvalidProject

OPERATIONS = Operations(INTEGRATION)


class CurrencyView(Struct, frozen=True, kw_only=True):
    """A currency. A chain's `deposit` does not imply its `withdrawal`."""

    code: Annotated[str, example("EUR")]
    """Currency code, such as `EUR`."""
    name: Annotated[str, example("Euro")]
    """Name of the currency."""
    type: Annotated[Literal["fiat", "crypto"], example("fiat")]
    """Kind of currency.

    fiat: Money of a state.
    crypto: Money on a network.
    """
    decimals: int
    symbol: Annotated[str, example("€")]
    """Symbol that is shown with amounts."""
    operations: CurrencyOperations
    """What can be done with the currency."""
    balance_payment_supported: bool
    """Whether balance payments can have it."""
    chains: tuple[Chain, ...]
    """Networks that carry the currency."""
    mode: Mode
    livemode: bool


class CurrencyList(Struct, frozen=True):
    """A page of currencies."""

    currencies: list[CurrencyView]
    has_more: bool
    next_cursor: str | None


class PaymentMethodView(Struct, frozen=True, kw_only=True):
    """A payment method of the hosted checkout, available or not."""

    method_id: str
    name: Annotated[str, example("Sandbox")]
    """Name of the method, which customers see."""
    type: MethodType
    """Kind of method."""
    network: str
    """Network or rail of the method."""
    asset: Annotated[str, example("EUR")]
    """What the customer pays with."""
    currencies: Annotated[tuple[str, ...], example(["EUR"])]
    """Currencies of payment links that the method can pay."""
    settlement_currency: Annotated[str, example("EUR")]
    """Currency in which the payment arrives."""
    minimum_minor: int
    """Smallest payment, in minor units."""
    maximum_minor: int | None
    """Largest payment, in minor units; null is unlimited."""
    minimum_refund_minor: Annotated[int, example(1)]
    """Smallest refund of a part, in minor units."""
    fees: Fees
    """Fees that you pay for a payment."""
    push: bool
    """Whether the customer sends the money, so that the amount can differ."""
    refundable: bool
    """Whether payments can be refunded."""
    confirmation: Literal["instant", "minutes", "days"]
    """How long a payment usually takes to be confirmed.

    instant: Seconds.
    minutes: Minutes.
    days: Days.
    """
    available: bool
    unavailable_reason: UnavailableReason | None
    """Why the method is not available; null if it is."""
    mode: Mode
    livemode: bool


class MethodsQuery(CatalogueQuery, frozen=True):
    """The intended payment. Methods that cannot be used for it are listed as unavailable."""

    currency: str | None = None
    amount: str | None = None
    project_id: UUID | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Yield every invalid parameter. An amount needs a currency."""
        yield from CatalogueQuery.rule_errors(self, context)
        known = context.catalogue.currencies.get(self.currency or "")
        if self.amount is not None and known is None:
            yield FieldError("currency", "invalid_currency", messages.A_CURRENCY)
        if self.amount is not None and minor_of(self.amount, known) is None:
            yield amount_error(known)


class PaymentMethodList(Struct, frozen=True):
    """A page of methods."""

    payment_methods: list[PaymentMethodView]
    has_more: bool
    next_cursor: str | None


class ProjectView(Struct, frozen=True, kw_only=True):
    """An approved project."""

    id: UUID
    object: Literal["project"] = "project"
    name: Annotated[str, example("Coffee")]
    """Name of the project, which customers see."""
    status: Literal["approved"] = "approved"
    """Always `approved`: other projects are not listed."""
    website_url: Annotated[str | None, example("https://shop.example")]
    description: str | None
    """What the project sells."""
    default_currency: str
    payment_method_ids: list[str]
    webhook_url: str | None = None
    created_at: Timestamp
    mode: Mode
    livemode: bool


class ProjectList(Struct, frozen=True):
    """A page of projects."""

    projects: list[ProjectView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/currencies", guard=any_credential)
async def list_currencies(caller: Caller, page: CataloguePageRequest, catalogue: Catalogue) -> CurrencyList:
    """List currencies. Each has its decimals, networks and supported operations."""
    shown, more, cursor = page.pick(list(catalogue.currencies.values()), lambda currency: currency.code)
    return CurrencyList([_currency(currency, caller.env) for currency in shown], more, cursor)


@OPERATIONS.add(
    "GET", "/payment-methods", guard=scope("projects:read", "settings:read"), errors=(ValidationFailed, InvalidProject)
)
async def list_methods(
    caller: Caller, query: MethodsQuery, page: PageRequest, db: Pool, services: Services
) -> PaymentMethodList:
    """List payment methods. These are all of the hosted checkout; unavailable ones have a reason."""
    amount_minor = minor_of(query.amount, services.catalogue.currencies.get(query.currency or ""))
    project = None
    if query.project_id is not None:
        project = await store.status_of(db, caller.env, query.project_id)
        if project is None:
            raise InvalidProject
    settings = await payment_settings.of(db, caller.env)
    requirements = MethodRequirements(query.currency, amount_minor, project)
    every = offers(caller.env.mode, settings, services.rails, services.catalogue, requirements)
    shown, more, cursor = page.pick(every, lambda offer: offer.method.method_id)
    return PaymentMethodList([_method(offer, caller.env) for offer in shown], more, cursor)


@OPERATIONS.add("GET", "/projects", guard=scope("projects:read"))
async def list_projects(caller: Caller, page: ListPageRequest, db: Pool, services: Services) -> ProjectList:
    """List approved projects. Newest first."""
    shown, more, cursor = page.cut(await store.approved(db, caller.env, page.window))
    settings = await payment_settings.of(db, caller.env)
    return ProjectList(
        [_project(project, caller.env, settings, services.rails, services.catalogue) for project in shown], more, cursor
    )


@OPERATIONS.add("GET", "/projects/{project_id}", guard=scope("projects:read"), errors=(NotFound,))
async def read_project(caller: Caller, project_id: UUID, db: Pool, services: Services) -> ProjectView:
    """Retrieve an approved project."""
    project = await store.approved_one(db, caller.env, project_id)
    if project is None:
        raise NotFound
    return _project(project, caller.env, await payment_settings.of(db, caller.env), services.rails, services.catalogue)


def _currency(currency: Currency, env: MerchantEnv) -> CurrencyView:
    return CurrencyView(
        code=currency.code,
        name=currency.name,
        type=currency.type,
        decimals=currency.decimals,
        symbol=currency.symbol,
        operations=currency.operations,
        balance_payment_supported=currency.balance_payment_supported,
        chains=currency.chains,
        mode=env.mode,
        livemode=env.livemode,
    )


def _method(offer: Offer, env: MerchantEnv) -> PaymentMethodView:
    method = offer.method
    return PaymentMethodView(
        method_id=method.method_id,
        name=method.name,
        type=method.type,
        network=method.network,
        asset=method.asset,
        currencies=(method.asset,),
        settlement_currency=method.asset,
        minimum_minor=method.minimum_minor,
        minimum_refund_minor=method.minimum_refund_minor,
        maximum_minor=method.maximum_minor,
        fees=method.fees,
        push=method.push,
        refundable=method.refundable,
        confirmation=method.confirmation,
        available=offer.available,
        unavailable_reason=offer.unavailable_reason,
        mode=env.mode,
        livemode=env.livemode,
    )


def _project(
    project: Project, env: MerchantEnv, settings: PaymentSettings, rails: Rails, catalogue: Catalogue
) -> ProjectView:
    """A project with the methods it can be paid with now."""
    return ProjectView(
        id=project.id,
        name=project.name,
        website_url=project.website_url,
        description=project.description,
        default_currency=settings.default_currency,
        payment_method_ids=[
            offer.method.method_id for offer in offers(env.mode, settings, rails, catalogue) if offer.available
        ],
        created_at=stamp(project.created_at),
        mode=env.mode,
        livemode=env.livemode,
    )
