"""Dashboard pages of balance payments, for the paying merchant and for the owner of the application."""

from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import ApplicationSuspended, Person
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import LongPageQuery, status_options
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.books.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.transfers.balance_payments import actions, store
from tollhouse.transfers.balance_payments.model import (
    BalancePayment,
    BalancePaymentStatus,
    CaptureTooLarge,
    PartialAmount,
    PayeeApplication,
    PayerSuspended,
    RevokedApplicationCapture,
    payment_view,
)
from tollhouse.transfers.balance_payments.store import BalancePaymentsQuery, ReceivedPaymentsQuery
from tollhouse.transfers.gate.model import DestinationRefused, DestinationWaits
from tollhouse.transfers.orders.errors import InvalidState

OPERATIONS = Operations(PAGES)
STATUSES = status_options(BalancePaymentStatus)


class BalancePaymentsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&page=` of the list. Empty is no filter."""

    status: Literal["", "reserved", "captured", "released", "expired", "partially_refunded", "refunded"] = ""


@OPERATIONS.add("GET", "/{mode}/balance-payments", guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: BalancePaymentsPageQuery) -> Response:
    """The list of payments to applications, newest first."""
    db = request.services.db
    filters = BalancePaymentsQuery(status=[query.status] if query.status else None)
    found, more = query.cut(await store.list_payments(db, env, None, filters, request.now, query.window))
    return render(
        request,
        caller,
        "balance_payments/list",
        here="balance-payments",
        payments=[payment_view(payment, request.now, request.services.catalogue) for payment in found],
        application_names=await store.application_names(db, {payment.client_id for payment in found}),
        query=query,
        saved=await load_saved_filters(request, caller, env, "balance-payments", query),
        statuses=STATUSES,
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/balance-payments/{payment_id}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, env: MerchantEnv, payment_id: UUID) -> Response:
    """A payment: application, amounts, status."""
    db = request.services.db
    found = await store.get(db, env, None, payment_id)
    return render(
        request,
        caller,
        "balance_payments/one",
        here="balance-payments",
        payment=payment_view(found, request.now, request.services.catalogue),
        name=(await store.application_names(db, [found.client_id]))[found.client_id],
    )


PATH = "/{mode}/balance-payments/received"
CAPTURE_ERRORS = (RevokedApplicationCapture, ApplicationSuspended, PayerSuspended, DestinationWaits, DestinationRefused)
NOT_RESERVED = "This payment is no longer reserved. Nothing was changed."
NOT_REFUNDABLE = "This payment has no amount left to refund."


class ReceivedPageQuery(BalancePaymentsPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?client_id=&status=&page=` of the list. Without an application: the newest one."""

    client_id: str = ""


@OPERATIONS.add("GET", PATH, guard=signed_in_page("read"))
async def received_page(request: Request, caller: Person, env: MerchantEnv, query: ReceivedPageQuery) -> Response:
    """The list of payments to one application's owner, newest first."""
    db = request.services.db
    applications = await store.list_applications(db, caller.merchant_id)
    selected = next((application for application in applications if query.client_id in {"", application.client_id}), None)
    if selected is None and query.client_id:
        raise NotFound
    rows: list[BalancePayment] = []
    if selected is not None:
        filters = ReceivedPaymentsQuery(status=[query.status] if query.status else None, mode=env.mode)
        rows = await store.list_received(db, selected, filters, request.now, query.window)
    found, more = query.cut(rows)
    return render(
        request,
        caller,
        "balance_payments/received",
        here="balance-payments",
        applications=[(application.client_id, application.name) for application in applications],
        selected=selected,
        payments=[payment_view(payment, request.now, request.services.catalogue) for payment in found],
        query=query,
        statuses=STATUSES,
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", PATH + "/{client_id}/{payment_id}", guard=signed_in_page("read"))
async def received_details(request: Request, caller: Person, env: MerchantEnv, client_id: str, payment_id: UUID) -> Response:
    """A payment to the application's owner, with the actions that its status allows."""
    return await _received_details(request, caller, env, client_id, payment_id)


@OPERATIONS.add(
    "POST", PATH + "/{client_id}/{payment_id}/capture", guard=signed_in_page("money"), recent_authentication="live"
)
async def capture(request: Request, caller: Person, mode: str, client_id: str, payment_id: UUID) -> Response:
    """Capture a reservation, in full or in part."""
    amount, owner = request.form().one("amount") or "", caller.merchant_id
    found, _ = await _get(request, caller.env(mode), client_id, payment_id)

    async def action(work: Work) -> object:
        part = PartialAmount(read_amount(amount, work.services.catalogue.currencies[found.currency]))
        return await actions.capture_as_owner(work, owner, client_id, payment_id, part)

    return await _run(request, caller, mode, client_id, payment_id, action, amount=amount)


@OPERATIONS.add(
    "POST", PATH + "/{client_id}/{payment_id}/release", guard=signed_in_page("money"), recent_authentication="live"
)
async def release(request: Request, caller: Person, mode: str, client_id: str, payment_id: UUID) -> Response:
    """Release a reservation."""
    owner = caller.merchant_id

    async def action(work: Work) -> object:
        return await actions.release_as_owner(work, owner, client_id, payment_id)

    return await _run(request, caller, mode, client_id, payment_id, action)


@OPERATIONS.add(
    "POST", PATH + "/{client_id}/{payment_id}/refund", guard=signed_in_page("money"), recent_authentication="live"
)
async def refund(request: Request, caller: Person, mode: str, client_id: str, payment_id: UUID) -> Response:
    """Refund the remaining captured amount."""
    owner = caller.merchant_id

    async def action(work: Work) -> object:
        return await actions.refund_as_owner(work, owner, client_id, payment_id)

    return await _run(request, caller, mode, client_id, payment_id, action, invalid_state=NOT_REFUNDABLE)


async def _run(
    request: Request,
    person: Person,
    mode: str,
    client_id: str,
    payment_id: UUID,
    action: Callable[[Work], Awaitable[object]],
    *,
    amount: str | None = None,
    invalid_state: str = NOT_RESERVED,
) -> Response:
    """Run an action and show the payment; with the error where it fails."""
    env = person.env(mode)
    found, _ = await _get(request, env, client_id, payment_id)
    try:
        await request.transact(action)
    except (ValidationFailed, CaptureTooLarge) as error:
        currency = request.services.catalogue.currencies[found.currency]
        form_errors = form_errors_of(error, {"amount"}, "amount", amount_texts(currency, amount=amount or ""))
    except InvalidState as error:
        form_errors = FormErrors(invalid_state, status=error.status)
    except (*CAPTURE_ERRORS, InsufficientFunds, BalanceLimitExceeded) as error:
        form_errors = FormErrors(error.message, status=error.status)
    else:
        return see_other(f"/{env.mode}/balance-payments/received/{client_id}/{payment_id}")
    return await _received_details(request, person, env, client_id, payment_id, form_errors, amount)


async def _get(
    request: Request, env: MerchantEnv, client_id: str, payment_id: UUID
) -> tuple[BalancePayment, PayeeApplication]:
    """A payment of this environment, and its application. Raises `NotFound`."""
    found = await store.get_received(request.services.db, env.merchant_id, client_id, payment_id)
    if found.env.mode != env.mode:
        raise NotFound
    return found, await store.get_application(request.services.db, env.merchant_id, client_id)


async def _received_details(
    request: Request,
    person: Person,
    env: MerchantEnv,
    client_id: str,
    payment_id: UUID,
    form_errors: FormErrors = NO_ERRORS,
    amount: str | None = None,
) -> Response:
    found, application = await _get(request, env, client_id, payment_id)
    return render(
        request,
        person,
        "balance_payments/received_one",
        here="balance-payments",
        payment=payment_view(found, request.now, request.services.catalogue),
        application=application,
        amount=request.services.catalogue.format_amount(found.amount_minor, found.currency) if amount is None else amount,
        form_errors=form_errors,
    )
