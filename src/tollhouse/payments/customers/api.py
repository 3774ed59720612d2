"""Customers in the dashboard API."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from tollhouse.accounts.identity.guards import signed_in
from tollhouse.accounts.identity.model import Person
from tollhouse.http.lists import CatalogueQuery, PageRequest
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import EMAIL_CHARS_MAX
from tollhouse.payments.customers import actions, store
from tollhouse.payments.customers.actions import MODES, NewNote
from tollhouse.payments.customers.model import CustomerKind, TooManyNotes
from tollhouse.payments.customers.views import (
    CustomerDetails,
    CustomerNoteView,
    CustomerView,
    load_details,
    load_payments,
)
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(DASHBOARD)


class CustomersQuery(CatalogueQuery, frozen=True, kw_only=True):
    """Filters of GET /customers."""

    mode: Mode
    """Mode of the payment links."""
    kind: CustomerKind = "email"
    """Which customers: those with an email address, or those that are known by an external ID alone."""
    search: Annotated[str, Meta(max_length=EMAIL_CHARS_MAX)] = ""
    """Beginning of the email address, in any case, or of the external ID."""


class CustomerList(Struct, frozen=True):
    """A page of customers."""

    customers: list[CustomerView]
    has_more: bool
    next_cursor: str | None


class NoteDeletion(Struct, frozen=True):
    """A note that was deleted."""

    id: UUID
    deleted: bool = True
    """Always true."""


@OPERATIONS.add("GET", "/customers", guard=signed_in("read"), errors=(ValidationFailed,))
async def list_customers(
    caller: Person, query: CustomersQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> CustomerList:
    """List customers. Whom payment links are for, in alphabetical order."""
    env = MerchantEnv(caller.merchant_id, query.mode)
    before = None if page.after is None else page.window.before_id
    rows = await store.list_customers(db, env, query.kind, query.search, before, page.limit + 1, page.offset)
    found, more, cursor = page.cut(rows)
    return CustomerList([CustomerView.of(customer, catalogue) for customer in found], more, cursor)


@OPERATIONS.add("GET", "/customers/{customer_id}", guard=signed_in("read"), errors=(NotFound,))
async def read_customer(caller: Person, customer_id: UUID, db: Pool, now: datetime, catalogue: Catalogue) -> CustomerDetails:
    """Retrieve a customer. With payments, refunds, disputes and notes."""
    customer = await store.find(db, caller.merchant_id, MODES, customer_id)
    if customer is None:
        raise NotFound
    return await load_details(db, customer, await load_payments(db, customer, now), now, catalogue)


@OPERATIONS.add(
    "POST",
    "/customers/{customer_id}/notes",
    guard=signed_in("payments", of_object=True),
    status=201,
    errors=(NotFound, ValidationFailed, TooManyNotes),
)
async def add_customer_note(caller: Person, customer_id: UUID, body: NewNote, work: Work) -> CustomerNoteView:
    """Add a note about a customer. All users of the account can read it; customers cannot."""
    note = await actions.add_note(work, caller, MODES, customer_id, body)
    return CustomerNoteView.of(note, work.services.catalogue)


@OPERATIONS.add(
    "DELETE", "/customers/{customer_id}/notes/{note_id}", guard=signed_in("payments", of_object=True), errors=(NotFound,)
)
async def delete_customer_note(caller: Person, customer_id: UUID, note_id: UUID, work: Work) -> NoteDeletion:
    """Delete a note about a customer."""
    await actions.delete_note(work, caller, MODES, customer_id, note_id)
    return NoteDeletion(note_id)
