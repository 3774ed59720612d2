"""What a merchant does with payment links, and how a payment of one begins. Each action is one transaction's worth."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollhouse.catalogue import payment_settings, projects
from tollhouse.catalogue.methods import Method
from tollhouse.catalogue.payment_settings import PaymentSettings
from tollhouse.http.services import Services
from tollhouse.identity.model import Person
from tollhouse.identity.verified import require_verified_email
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import new_id
from tollhouse.orders.errors import InvalidProject
from tollhouse.payments import sandbox_store, settle, store, transactions_store
from tollhouse.payments.errors import LinkNotActive, MethodUnavailable
from tollhouse.payments.model import NO_LEAD, CreatedBy, PaymentLink, new_token
from tollhouse.payments.new_link import NewLink, check
from tollhouse.payments.offers import offers_for
from tollhouse.platform.db import Tx
from tollhouse.rails.configured import rail
from tollhouse.rails.provider import Attempt, Instructions

ATTEMPTS_OPEN_MAX = 100
"""So many may stand open at one link; a visitor must not be able to fill the books."""


async def open_link(
    tx: Tx,
    env: MerchantEnv,
    new: NewLink,
    created_by: CreatedBy,
    services: Services,
    now: datetime,
    person: Person | None = None,
) -> PaymentLink:
    """Open a payment link; `person` does it at the dashboard.

    Raises `ValidationFailed`, `CurrencyNotSupported`, `EmailUnverified` and `InvalidProject`.
    """
    # The clock of a test environment matters only to a time that was named; any other is reckoned where it is kept.
    named = new.expires_at is not None and not env.livemode
    clock_offset = await sandbox_store.clock_offset(tx, env) if named else NO_LEAD
    priced = check(new, env, services.settings, now + clock_offset)
    await require_verified_email(tx, services.settings, env, person)
    project = await projects.seller(tx, env, new.project_id)
    if project is None:
        raise InvalidProject
    settings = await payment_settings.of(tx, env)
    # Nothing below this line may refuse.
    lifetime = timedelta(minutes=settings.link_expiry_minutes)
    link = PaymentLink(
        id=new_id(),
        env=env,
        token=new_token(),
        project_id=project.id,
        display_name=new.display_name.strip(),
        description=new.description,
        amount_minor=priced.amount_minor,
        currency=priced.currency.code,
        webhook_url=new.webhook_url,
        external_id=new.external_id,
        metadata=new.metadata or {},
        payment_method_ids=None if new.payment_method_ids is None else tuple(new.payment_method_ids),
        success_url=new.success_url,
        cancel_url=new.cancel_url,
        customer_email=new.customer_email,
        max_payments=new.max_payments,
        created_by=created_by,
        created_at=now,
        updated_at=now,
        expires_at=new.expires_at or now + lifetime,
        clock_offset=clock_offset,
    )
    expires_at = await store.insert(tx, link, new.expires_at, lifetime)
    # A link is born active; what its merchant's clock shows was reckoned with.
    return msgspec.structs.replace(link, expires_at=expires_at)


async def cancel(tx: Tx, env: MerchantEnv, link_id: UUID, services: Services, now: datetime) -> PaymentLink:
    """Close an active link; one that is canceled stays as it is. Raises `NotFound` and `LinkNotActive`.

    A pending attempt fails with it. One in `processing` is left to finish: its money may be on the way.
    """
    link = await store.lock(tx, env, link_id)
    if link is None:
        raise NotFound
    if link.status == "canceled":
        return link
    standing = link.status_at(now)
    if standing != "active" or not await store.end_if_active(tx, env, link_id, "canceled", now):
        raise LinkNotActive(standing)
    # Nothing below this line may refuse.
    for attempt in await transactions_store.open_of(tx, link):
        if attempt.status == "pending":
            await settle.fail(tx, attempt, "link_canceled", services, now)
    canceled = await store.one(tx, env, link_id)
    if canceled is None:
        raise AssertionError("links are never deleted")
    return canceled


async def start(link: PaymentLink, settings: PaymentSettings, method_id: str) -> tuple[UUID, Method, Instructions]:
    """Ask the rail of the method for instructions, with no transaction open. Raises `MethodUnavailable`."""
    offer = next((offer for offer in offers_for(link, settings) if offer.method.method_id == method_id), None)
    if offer is None or not offer.available:
        raise MethodUnavailable(None if offer is None else offer.unavailable_reason)
    provider = rail(offer.method.rail, link.env.mode)
    if provider is None:
        raise AssertionError("an available offer has a rail")
    attempt = Attempt(new_id(), method_id, link.currency, link.amount_minor)
    return attempt.id, offer.method, await provider.start_payment(attempt)


async def begin(
    tx: Tx, shown: PaymentLink, attempt_id: UUID, method: Method, told: Instructions, now: datetime
) -> UUID | None:
    """Begin an attempt of a link that is still active; the attempt's id, None where the link is not active any more.

    A link that is paid once has one attempt at a time: whoever comes while it runs gets that one. At other links every
    customer has an attempt of their own, up to a bound: whoever comes beyond it shares the newest that uses the same method.
    Everything that pays, cancels or expires a link locks the link first: so none of them can cross this.
    """
    link = await store.lock(tx, shown.env, shown.id)
    if link is None or link.status_at(now) != "active":
        return None
    open_ones = await transactions_store.newest_open(tx, link, ATTEMPTS_OPEN_MAX)
    if link.max_payments == 1 and open_ones:
        return open_ones[0][0]
    if len(open_ones) >= ATTEMPTS_OPEN_MAX:
        shared = next((one_id for one_id, method_id in open_ones if method_id == method.method_id), None)
        if shared is not None:
            return shared
    await transactions_store.begin(tx, link, attempt_id, method, told, now)
    await store.note_attempt(tx, link, attempt_id, now)
    return attempt_id
