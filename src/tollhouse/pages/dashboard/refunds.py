"""The dashboard's pages for a refund: the form, the review of amounts, the confirmation.

The review page carries an idempotency key and the payment's version, so that a repeated submit, or a second
open form, refunds once.
"""

from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.pages.dashboard import refund_form
from tollhouse.payments.refunds import actions, store
from tollhouse.payments.transactions import settlement

OPERATIONS = Operations(PAGES)
CHANGED = "The payment has changed since you opened this page. Review the refund again before you confirm."
COSTS_MORE = "The refund costs more than when you opened this page. Review it again before you confirm."


class PaymentChanged(Exception):
    """The payment has changed since it was shown, or what its refund costs. The text says which."""


class RefundPage(Struct, frozen=True, forbid_unknown_fields=True):
    """`?again=` names a failed refund to retry."""

    again: UUID | None = None


@OPERATIONS.add("GET", "/{mode}/payments/{transaction_id}/refund", guard=signed_in_page, recent_authentication="live")
async def show_form(request: Request, caller: Person, mode: str, transaction_id: UUID, query: RefundPage) -> Response:
    """Show the form: everything that is left, or the values of a failed refund."""
    env = caller.env(mode)
    values = {"reason": "customer_request"}
    earlier = None if query.again is None else await store.get(request.services.db, env, query.again)
    if earlier is not None and earlier.transaction_id == transaction_id:
        values = {
            "amount": request.services.catalogue.format_amount(earlier.amount_minor, earlier.currency),
            "reason": earlier.reason,
            "receiver": earlier.receiver or "",
            "external_id": earlier.external_id or "",
        }
    return await refund_form.show(request, caller, env, transaction_id, refund_form.of_values(values), reviewed=False)


@OPERATIONS.add("POST", "/{mode}/payments/{transaction_id}/refund", guard=signed_in_page, recent_authentication="live")
async def review(request: Request, caller: Person, mode: str, transaction_id: UUID) -> Response:
    """Show the amounts to confirm, or the form again with its errors."""
    form = request.form()
    filled = refund_form.read(form)
    return await refund_form.show(request, caller, caller.env(mode), transaction_id, filled, reviewed=not form.one("change"))


@OPERATIONS.add(
    "POST", "/{mode}/payments/{transaction_id}/refund/confirm", guard=signed_in_page, recent_authentication="live"
)
async def confirm(request: Request, caller: Person, mode: str, transaction_id: UUID) -> Response:
    """Request the refund if the payment has not changed."""
    env, form = caller.env(mode), request.form()
    filled = refund_form.read(form)
    key, seen = form.one("key") or "", form.one("seen")
    shown_cost = form.one("cost") or ""
    cost_minor = int(shown_cost) if shown_cost.isascii() and shown_cost.isdecimal() else 0
    message, refused = "", None

    async def refund(work: Work) -> UUID:
        async def make() -> UUID:
            current = await settlement.lock(work.tx, env, transaction_id)
            if str(current.version) != seen:
                raise PaymentChanged(CHANGED)
            new = filled.new(request.services.catalogue.currencies[current.currency])
            made, _ = await actions.request(work, env, transaction_id, new, may_withdraw=True)
            if made.cost[1] > cost_minor:
                raise PaymentChanged(COSTS_MORE)
            return made.id

        return await create_once(work, env, key, (request.path, filled), make)

    if parse_id(key) is not None and seen is not None:
        try:
            await request.transact(refund)
            return see_other(f"/{env.mode}/payments/{transaction_id}?done=refund")
        except PaymentChanged as error:
            message = str(error)
        except NotFound:
            raise
        except ApiError as error:
            refused = error
    return await refund_form.show(request, caller, env, transaction_id, filled, refused, message, reviewed=refused is None)
