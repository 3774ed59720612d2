"""Creates payment links and changes their expiry."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.identity.emails import require_verified_email
from tollhouse.accounts.identity.model import Person
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.payments.links import store
from tollhouse.payments.links.model import LinkCreator, PaymentLink, UnpayableReason, new_link_token
from tollhouse.payments.links.new_link import OPTIONAL_TEXTS, LinkRequest, check, expiry_errors
from tollhouse.payments.links.offers import lifetime_min
from tollhouse.payments.links.payability import reason_with
from tollhouse.transfers.orders.errors import InvalidProject, InvalidState

SHOWN_TO = timedelta(milliseconds=1)
"""The precision of times in the API: an expiry that a client read and sends back is no change."""


async def open_link(
    work: Work,
    env: MerchantEnv,
    new: LinkRequest,
    created_by: LinkCreator,
    person: Person | None = None,
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
    link = PaymentLink(
        id=new_id(),
        env=env,
        token=new_link_token(),
        project_id=terms.project_id,
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
        created_by=created_by,
        created_at=work.now,
        updated_at=work.now,
        expires_at=new.expires_at or work.now + offset + timedelta(minutes=terms.settings.link_expiry_minutes),
        clock_offset=offset,
        **{name: getattr(new, name) for name in OPTIONAL_TEXTS},
    )
    if new.expires_at is None and created_by.type == "dashboard":
        link = _with_long_lifetime(link, terms.settings, work)
    await store.insert(work.tx, link)
    return link, await reason_with(work.tx, link, terms.settings, work.services, work.now)


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
    if link is None:
        raise NotFound
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
