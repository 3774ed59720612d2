"""The dashboard's pages of customers: the list, and one customer with payments and notes."""

import contextlib
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta
from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import IdempotencyKeyReused, create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import KeysetQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import EMAIL_CHARS_MAX
from tollhouse.pages.dashboard.layout import render
from tollhouse.payments.customers import actions, store
from tollhouse.payments.customers.actions import NewNote
from tollhouse.payments.customers.model import LINKS_COUNTED_MAX, NOTES_MAX, PAYMENTS_READ_MAX, TooManyNotes
from tollhouse.payments.customers.views import CustomerView, load_details, load_payments
from tollhouse.payments.links.views import method_labels
from tollhouse.payments.transactions.model import REFUND_REASONS

OPERATIONS = Operations(PAGES)
ROOT = "/{mode}/customers"
NOTICES = {"added": "Note added.", "deleted": "Note deleted."}
SENT_TWICE = "This note was already added. To add another one, reload the page."


class CustomersPageQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """`?search=&kind=&before=` of the list. Without a kind, it is of customers with an address."""

    search: Annotated[str, Meta(max_length=EMAIL_CHARS_MAX)] = ""
    kind: Literal["", "external_id"] = ""


class CustomerPageQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """`?before=` of the customer's payments. `done` names the action that was just completed."""

    done: str = ""


@OPERATIONS.add("GET", ROOT, guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: CustomersPageQuery) -> Response:
    """The customers, in alphabetical order."""
    db, catalogue = request.services.db, request.services.catalogue
    search = query.search.strip()
    found, more = query.cut(await store.list_customers(db, env, query.kind or "email", search, query.before, query.fetch))
    return render(
        request,
        caller,
        "customers/list",
        here="customers",
        customers=[CustomerView.of(customer, catalogue) for customer in found],
        counted_max=LINKS_COUNTED_MAX,
        query=query,
        page_links=query.links(f"/{env.mode}/customers", found, more=more),
    )


@OPERATIONS.add("GET", f"{ROOT}/{{customer_id}}", guard=signed_in_page("read"))
async def customer(
    request: Request, caller: Person, env: MerchantEnv, customer_id: UUID, query: CustomerPageQuery
) -> Response:
    """One customer."""
    return await _customer_page(request, caller, env, customer_id, query)


@OPERATIONS.add("POST", f"{ROOT}/{{customer_id}}/notes", guard=signed_in_page("payments"))
async def add_note(request: Request, caller: Person, env: MerchantEnv, customer_id: UUID) -> Response:
    """Add a note. A form that is sent twice adds one."""
    form = request.form()
    key, note = form.one("key") or "", (form.one("note") or "").replace("\r\n", "\n")
    if parse_id(key) is None:
        return await _customer_page(request, caller, env, customer_id, note=note)

    async def action(work: Work) -> UUID:
        async def add() -> UUID:
            return (await actions.add_note(work, caller, [env.mode], customer_id, NewNote(note))).id

        return await create_once(work, env, key, (request.path, note), add)

    try:
        await request.transact(action)
    except (ValidationFailed, TooManyNotes, IdempotencyKeyReused) as error:
        is_twice = isinstance(error, IdempotencyKeyReused)
        wrong = FormErrors(SENT_TWICE, status=error.status) if is_twice else form_errors_of(error, ("note",))
        return await _customer_page(request, caller, env, customer_id, form_errors=wrong, note=note)
    return see_other(f"/{env.mode}/customers/{customer_id}?done=added#notes")


@OPERATIONS.add("POST", f"{ROOT}/{{customer_id}}/notes/{{note_id}}/delete", guard=signed_in_page("payments"))
async def delete_note(request: Request, caller: Person, env: MerchantEnv, customer_id: UUID, note_id: UUID) -> Response:
    """Delete a note. A repeated request succeeds."""
    with contextlib.suppress(NotFound):
        await request.transact(lambda work: actions.delete_note(work, caller, [env.mode], customer_id, note_id))
    return see_other(f"/{env.mode}/customers/{customer_id}?done=deleted#notes")


async def _customer_page(
    request: Request,
    person: Person,
    env: MerchantEnv,
    customer_id: UUID,
    query: CustomerPageQuery = CustomerPageQuery(),  # noqa: B008 - it is frozen
    form_errors: FormErrors = NO_ERRORS,
    note: str = "",
) -> Response:
    db, catalogue = request.services.db, request.services.catalogue
    found = await store.find(db, env.merchant_id, [env.mode], customer_id)
    if found is None:
        raise NotFound
    payments, more = query.cut(await load_payments(db, found, request.now, query.before, query.fetch))
    details = await load_details(db, found, payments, request.now, catalogue)
    return render(
        request,
        person,
        "customers/one",
        here="customers",
        customer=found,
        details=details,
        read_max=PAYMENTS_READ_MAX,
        names=method_labels(catalogue),
        reasons=REFUND_REASONS,
        methods={payment.id: payment.method_id for payment in payments},
        notes_max=NOTES_MAX,
        note=note,
        notice=NOTICES.get(query.done, ""),
        query=query,
        page_links=query.links(f"/{env.mode}/customers/{customer_id}", payments, more=more),
        form_errors=form_errors,
    )
