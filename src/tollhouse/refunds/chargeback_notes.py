"""The merchant's notes about an open chargeback: evidence, with author and time."""

from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.names import is_readable
from tollhouse.orders.errors import InvalidState
from tollhouse.refunds import chargeback_notes_store as store
from tollhouse.transactions import settlement

NOTE_CHARS_MAX = 2_000
TOO_MANY = "This chargeback has 50 notes. Further notes cannot be saved."


async def add_note(work: Work, env: MerchantEnv, transaction_id: UUID, author: str, note: str) -> None:
    """Add a note to the open chargeback of a payment, until its due date on the environment's clock.

    Raises `ValidationFailed`, `NotFound` and `InvalidState`.
    """
    text = "\n".join(note.strip().splitlines())
    if not 1 <= len(text) <= NOTE_CHARS_MAX or not all(not line or is_readable(line) for line in text.split("\n")):
        raise ValidationFailed(FieldError("note", "invalid_value", messages.plain_text(1, NOTE_CHARS_MAX)))
    current = await settlement.lock(work.tx, env, transaction_id)
    chargeback = current.chargeback
    if chargeback is None or chargeback.status != "open":
        raise InvalidState(current.status_at(work.now))
    respond_by = await store.find_respond_by(work.tx, chargeback.id)
    if respond_by is not None and work.now + current.clock_offset >= respond_by:
        raise InvalidState(current.status_at(work.now))
    if await store.count_notes(work.tx, chargeback.id) >= store.NOTES_MAX:
        raise ValidationFailed(FieldError("note", "too_many", TOO_MANY))
    await store.insert_note(work.tx, chargeback.id, author, text, work.now)
