"""What a merchant does with payment links, and how a payment of one begins. Each action is one transaction's worth."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.callers.model import Caller
from tollhouse.catalogue import projects
from tollhouse.catalogue.methods import Method
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import LINK_EXPIRY_S
from tollhouse.kernel.refusals import NotFound
from tollhouse.payments import settle, store, transactions_store
from tollhouse.payments.model import CreatedBy, InvalidProject, LinkNotActive, MethodUnavailable, PaymentLink, new_token
from tollhouse.payments.new_link import NewLink, check
from tollhouse.payments.offers import offers_for
from tollhouse.platform.db import Tx
from tollhouse.rails.configured import rail
from tollhouse.rails.provider import Attempt, Instructions
from tollhouse.web.house import House


async def open_link(tx: Tx, caller: Caller, new: NewLink, house: House, now: datetime) -> PaymentLink:
    """Open a payment link. Raises `ValidationFailed`, `CurrencyNotSupported` and `InvalidProject`."""
    priced = check(new, caller.env, house.settings, now)
    project = await projects.seller(tx, caller.env, new.project_id)
    if project is None:
        raise InvalidProject
    # Nothing below this line may refuse.
    link = PaymentLink(
        id=new_id(),
        env=caller.env,
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
        created_by=CreatedBy("api_key" if caller.client_id is None else "oauth", caller.client_id),
        created_at=now,
        updated_at=now,
        expires_at=new.expires_at or now + timedelta(seconds=LINK_EXPIRY_S),
    )
    await store.insert(tx, link)
    return link


async def cancel(tx: Tx, env: MerchantEnv, link_id: UUID, house: House, now: datetime) -> PaymentLink:
    """Close an active link; one that is canceled stays as it is. Raises `NotFound` and `LinkNotActive`.

    A pending attempt fails with it. One in `processing` is left to finish: its money may be on the way.
    """
    link = await store.lock(tx, env, link_id)
    if link is None:
        raise NotFound
    if link.status == "canceled":
        return link
    if not await store.cancel_if_active(tx, env, link_id, now):
        raise LinkNotActive(link.status_at(now))
    # Nothing below this line may refuse.
    attempt = await transactions_store.open_of(tx, link)
    if attempt is not None and attempt.status == "pending":
        await settle.fail(tx, attempt, "link_canceled", house, now)
    canceled = await store.one(tx, env, link_id)
    if canceled is None:
        raise AssertionError("links are never deleted")
    return canceled


async def start(link: PaymentLink, method_id: str) -> tuple[UUID, Method, Instructions]:
    """Ask the rail of the method for instructions, with no transaction open. Raises `MethodUnavailable`."""
    offer = next((offer for offer in offers_for(link) if offer.method.method_id == method_id), None)
    if offer is None or not offer.available:
        raise MethodUnavailable(None if offer is None else offer.unavailable_reason)
    provider = rail(offer.method.rail, link.env.mode)
    if provider is None:
        raise AssertionError("an available offer has a rail")
    attempt = Attempt(new_id(), method_id, link.currency, link.amount_minor)
    return attempt.id, offer.method, await provider.start_payment(attempt)


async def begin(tx: Tx, shown: PaymentLink, attempt_id: UUID, method: Method, told: Instructions, now: datetime) -> None:
    """Make the attempt, where the link is still active and has no open one. A customer who was second sees the first one's.

    Everything that pays, cancels or expires a link locks the link first: so none of them can cross this.
    """
    link = await store.lock(tx, shown.env, shown.id)
    if link is None or link.status_at(now) != "active":
        return
    if await transactions_store.begin_if_none_open(tx, link, attempt_id, method, told, now):
        await transactions_store.add_step(tx, attempt_id, 1, "pending", None, now)
        await store.note_attempt(tx, link, attempt_id, now)
