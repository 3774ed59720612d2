"""Notes about customers: added and deleted by users. The audit log says who did, not what the notes say."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.identity.model import Person
from tollhouse.http.bodies import documented
from tollhouse.http.services import Work
from tollhouse.kernel import limits, messages
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode, new_id
from tollhouse.kernel.names import LINE_FEEDS, is_readable
from tollhouse.payments.customers import store
from tollhouse.payments.customers.model import NOTES_MAX, Customer, CustomerNote, TooManyNotes

MODES: Sequence[Mode] = ("live", "test")


class NewNote(Struct, frozen=True, forbid_unknown_fields=True):
    """A note to add."""

    note: Annotated[str, documented(minLength=1, maxLength=limits.NOTE_CHARS_MAX), example("Wants invoices by post.")]
    """Text of the note."""


async def add_note(work: Work, person: Person, modes: Sequence[Mode], customer_id: UUID, new: NewNote) -> CustomerNote:
    """Add a note about a customer. Raises `ValidationFailed`, `NotFound` and `TooManyNotes`."""
    note = new.note.strip()
    if not 1 <= len(note) <= limits.NOTE_CHARS_MAX or not is_readable(note, LINE_FEEDS):
        raise ValidationFailed(FieldError("note", "invalid_value", messages.plain_text(1, limits.NOTE_CHARS_MAX)))
    customer = await _get_to_change(work, person, modes, customer_id)
    if await store.count_notes(work.tx, customer) >= NOTES_MAX:
        raise TooManyNotes
    added = CustomerNote(id=new_id(), note=note, author=person.email, created_at=work.now)
    if not await store.insert_note(work.tx, customer, added.id, person.user_id, added.note, work.now):
        raise NotFound
    await record.event(work, customer.env, "customer.note_added", subject=customer.id)
    return added


async def delete_note(work: Work, person: Person, modes: Sequence[Mode], customer_id: UUID, note_id: UUID) -> None:
    """Delete a note about a customer. Raises `NotFound`."""
    customer = await _get_to_change(work, person, modes, customer_id)
    if not await store.delete_note(work.tx, customer, note_id):
        raise NotFound
    await record.event(work, customer.env, "customer.note_deleted", subject=customer.id)


async def _get_to_change(work: Work, person: Person, modes: Sequence[Mode], customer_id: UUID) -> Customer:
    """The customer with this ID. Raises `NotFound`, and `RoleForbidden` if the role may not change it."""
    found = await store.find(work.tx, person.merchant_id, modes, customer_id)
    if found is None:
        raise NotFound
    person.require("payments", found.env.mode)
    return found
