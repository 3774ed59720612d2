"""The dashboard's pages about what an application reserved and took, for its owner: who can capture, release and refund."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.balance_payments import actions, store
from tollhouse.balance_payments.errors import ApplicationRevoked, CaptureTooLarge
from tollhouse.balance_payments.model import Application, BalancePayment
from tollhouse.balance_payments.new_payment import PartialAmount
from tollhouse.balance_payments.pages import STATUSES, PaymentsPage
from tollhouse.balance_payments.store import OwnedApplication
from tollhouse.balance_payments.views import payment_view
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import turn
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import ApplicationSuspended, Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.orders.errors import InvalidState

OPERATIONS = Operations(PAGES)
PATH = "/{mode}/balance-payments/received"
TOO_LATE = "Nothing was done: it is not reserved any more."
NOT_REFUNDABLE = "Nothing was refunded: there is nothing left to refund."


class ReceivedPage(PaymentsPage, frozen=True, forbid_unknown_fields=True):
    """`?client_id=&status=&page=`: of one application, the newest where none is named."""

    client_id: str = ""


@OPERATIONS.add("GET", PATH, guard=signed_in_page)
async def received(request: Request, caller: Person, mode: str, query: ReceivedPage) -> Response:
    """What the merchants of an application paid or reserved by it, newest first."""
    env, db = caller.env(mode), request.services.db
    owned = await store.owned_applications(db, caller.merchant_id)
    chosen = next((one for one in owned if query.client_id in {"", one.client_id}), None)
    if chosen is None and query.client_id:
        raise NotFound
    found: list[BalancePayment] = []
    if chosen is not None:
        own = Application(chosen.client_id, caller.merchant_id)
        found = await store.listed_owned(
            db, own, [query.status] if query.status else None, env.mode, request.now, query.window
        )
    shown, more = query.cut(found)
    return page(
        request,
        "balance_payments/received.html",
        person=caller,
        mode=env.mode,
        here="balance-payments",
        applications=[(one.client_id, one.name) for one in owned],
        chosen=chosen,
        payments=[payment_view(one, request.now) for one in shown],
        query=query,
        statuses=STATUSES,
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", PATH + "/{client_id}/{payment_id}", guard=signed_in_page)
async def payment(request: Request, caller: Person, mode: str, client_id: str, payment_id: UUID) -> Response:
    """One payment to an application's owner, to be captured or released while it is reserved."""
    return await _payment(request, caller, caller.env(mode), client_id, payment_id)


@OPERATIONS.add("POST", PATH + "/{client_id}/{payment_id}/capture", guard=signed_in_page)
async def capture(request: Request, caller: Person, mode: str, client_id: str, payment_id: UUID) -> Response:
    """Take what is reserved, once: all of it, or a part while the rest is given back."""
    env, services = caller.env(mode), request.services
    await _found(request, env, client_id, payment_id)
    amount, owner = request.form().amount("amount"), env.merchant_id
    part = PartialAmount(amount)
    try:
        await services.db.transact(
            lambda tx: actions.capture_as_owner(tx, owner, client_id, payment_id, part, services, request.now)
        )
    except (ValidationFailed, CaptureTooLarge) as error:
        form_errors = form_errors_of(error, {"amount"}, "amount")
        return await _payment(request, caller, env, client_id, payment_id, form_errors, amount)
    except (InvalidState, ApplicationRevoked, ApplicationSuspended) as error:
        return await _payment(request, caller, env, client_id, payment_id, _too_late(error))
    except BalanceLimitExceeded as error:
        return await _payment(
            request, caller, env, client_id, payment_id, FormErrors(error.message, status=error.status), amount
        )
    return see_other(f"/{env.mode}/balance-payments/received/{client_id}/{payment_id}")


@OPERATIONS.add("POST", PATH + "/{client_id}/{payment_id}/release", guard=signed_in_page)
async def release(request: Request, caller: Person, mode: str, client_id: str, payment_id: UUID) -> Response:
    """Give back what is reserved, whatever became of the connection or the application."""
    env, services = caller.env(mode), request.services
    await _found(request, env, client_id, payment_id)
    owner = env.merchant_id
    try:
        await services.db.transact(
            lambda tx: actions.release_as_owner(tx, owner, client_id, payment_id, services, request.now)
        )
    except InvalidState as error:
        return await _payment(request, caller, env, client_id, payment_id, _too_late(error))
    return see_other(f"/{env.mode}/balance-payments/received/{client_id}/{payment_id}")


@OPERATIONS.add("POST", PATH + "/{client_id}/{payment_id}/refund", guard=signed_in_page)
async def refund(request: Request, caller: Person, mode: str, client_id: str, payment_id: UUID) -> Response:
    """Pay back all that is left of what was captured, whatever became of the connection or the application."""
    env, services = caller.env(mode), request.services
    await _found(request, env, client_id, payment_id)
    owner = env.merchant_id
    try:
        await services.db.transact(
            lambda tx: actions.refund_as_owner(tx, owner, client_id, payment_id, services, request.now)
        )
    except InvalidState as error:
        return await _payment(request, caller, env, client_id, payment_id, FormErrors(NOT_REFUNDABLE, status=error.status))
    except (InsufficientFunds, BalanceLimitExceeded) as error:
        return await _payment(request, caller, env, client_id, payment_id, FormErrors(error.message, status=error.status))
    return see_other(f"/{env.mode}/balance-payments/received/{client_id}/{payment_id}")


async def _found(
    request: Request, env: MerchantEnv, client_id: str, payment_id: UUID
) -> tuple[BalancePayment, OwnedApplication]:
    """The payment of one of the owner's applications, in this environment. Raises `NotFound`."""
    db = request.services.db
    found = await store.owned(db, env.merchant_id, client_id, payment_id)
    if found is None or found.env.mode != env.mode:
        raise NotFound
    own = next(one for one in await store.owned_applications(db, env.merchant_id) if one.client_id == client_id)
    return found, own


async def _payment(
    request: Request,
    person: Person,
    env: MerchantEnv,
    client_id: str,
    payment_id: UUID,
    form_errors: FormErrors = NO_ERRORS,
    amount: str | None = None,
) -> Response:
    found, own = await _found(request, env, client_id, payment_id)
    shown = payment_view(found, request.now)
    return page(
        request,
        "balance_payments/received_one.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="balance-payments",
        payment=shown,
        application=own,
        amount=shown.amount if amount is None else amount,
        form_errors=form_errors,
    )


def _too_late(error: InvalidState | ApplicationRevoked | ApplicationSuspended) -> FormErrors:
    return FormErrors(TOO_LATE if isinstance(error, InvalidState) else error.message, status=error.status)
