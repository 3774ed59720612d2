"""The dashboard's page of one payment link, its expiry and its cancellation."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.markup import qr_image
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.pages.dashboard.new_payment_link import LIFETIMES
from tollhouse.pages.dashboard.unpayable import warning_of
from tollhouse.payments.links import actions
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.choices import method_labels, project_choices
from tollhouse.payments.links.errors import LinkNotActive
from tollhouse.payments.links.model import PaymentLink
from tollhouse.payments.links.new_link import OPTIONAL_TEXTS
from tollhouse.payments.links.payability import load_reason
from tollhouse.payments.links.views import link_view
from tollhouse.payments.transactions import link_closing, payment_list_store
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.orders.store import clock_offset

OPERATIONS = Operations(PAGES)
PAYMENTS_SHOWN = 10
NOT_ACTIVE = "The payment link is no longer active, so it was not canceled."
NOT_CHANGED = "The payment link is no longer active, so its expiry was not changed."


@OPERATIONS.add("GET", "/{mode}/payment-links/{link_id}", guard=signed_in_page)
async def link(request: Request, caller: Person, mode: str, link_id: UUID) -> Response:
    """Show a link: URL, QR code and payments."""
    return await _link(request, caller, caller.env(mode), link_id)


@OPERATIONS.add("GET", "/{mode}/payment-links/{link_id}/cancel", guard=signed_in_page)
async def confirm_cancel(request: Request, caller: Person, mode: str, link_id: UUID) -> Response:
    """Ask for confirmation before canceling."""
    env = caller.env(mode)
    found = await _found(request, env, link_id)
    if found.status_at(request.now) != "active":
        return see_other(f"/{env.mode}/payment-links/{link_id}")
    view = link_view(found, request.services.settings.base_url, request.now, request.services.catalogue)
    return page(
        request, "dashboard/payments/link_cancel.html", person=caller, mode=env.mode, here="payment-links", link=view
    )


@OPERATIONS.add("POST", "/{mode}/payment-links/{link_id}/cancel", guard=signed_in_page)
async def cancel(request: Request, caller: Person, mode: str, link_id: UUID) -> Response:
    """Cancel an active link. A repeated submit changes nothing."""
    env = caller.env(mode)
    try:
        await request.transact(lambda work: link_closing.cancel(work, env, link_id))
    except LinkNotActive as error:
        return await _link(request, caller, env, link_id, error, NOT_ACTIVE)
    return see_other(f"/{env.mode}/payment-links/{link_id}")


@OPERATIONS.add("POST", "/{mode}/payment-links/{link_id}/expiry", guard=signed_in_page)
async def change_expiry(request: Request, caller: Person, mode: str, link_id: UUID) -> Response:
    """Let an active link expire this long after now."""
    env = caller.env(mode)
    lifetime = LIFETIMES.get(request.form().one("expires") or "")
    if lifetime is None:
        raise ValidationFailed(FieldError("expires", "invalid_value", messages.A_CHOICE))

    async def action(work: Work) -> None:
        expires_at = work.now + await clock_offset(work.tx, env) + lifetime[0]
        await actions.change_expiry(work, env, link_id, expires_at)

    try:
        await request.transact(action)
    except InvalidState as error:
        return await _link(request, caller, env, link_id, error, NOT_CHANGED)
    return see_other(f"/{env.mode}/payment-links/{link_id}")


async def _link(
    request: Request,
    person: Person,
    env: MerchantEnv,
    link_id: UUID,
    error: ApiError | None = None,
    message: str = "",
) -> Response:
    found = await _found(request, env, link_id)
    services, is_suspended = request.services, person.suspended
    reason = await load_reason(services.db, found, services, request.now, is_suspended=is_suspended)
    view = link_view(found, services.settings.base_url, request.now, services.catalogue, reason)
    paid = await payment_list_store.list_of_link(request.services.db, env, link_id, request.now, PAYMENTS_SHOWN + 1)
    return page(
        request,
        "dashboard/payments/link.html",
        200 if error is None else error.status,
        person=person,
        mode=env.mode,
        here="payment-links",
        link=view,
        unpayable=warning_of(reason, found.currency),
        optional_texts=OPTIONAL_TEXTS,
        qr=qr_image(view.url) if found.status_at(request.now) == "active" else None,
        project=dict(await project_choices(request.services.db, env)).get(str(found.project_id), ""),
        payments=paid[:PAYMENTS_SHOWN],
        more=len(paid) > PAYMENTS_SHOWN,
        names=method_labels(request.services.catalogue),
        amount=request.services.catalogue.format_amount,
        message=message,
        lifetimes=[(name, label) for name, (_, label) in LIFETIMES.items()],
    )


async def _found(request: Request, env: MerchantEnv, link_id: UUID) -> PaymentLink:
    found = await link_store.get(request.services.db, env, link_id)
    if found is None:
        raise NotFound
    return found
