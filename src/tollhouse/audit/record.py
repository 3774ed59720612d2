"""Writing the audit log: called where pages and APIs meet, in the transaction that does the deed.

So there is no deed without its line and no line without its deed. Nothing secret is written: `changes` cuts what may be.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.audit import author, store
from tollhouse.audit.author import Author
from tollhouse.audit.changes import Changes
from tollhouse.audit.event_types import AuditEventType
from tollhouse.audit.store import About
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.db import Tx


async def note(
    tx: Tx,
    whose: MerchantEnv | MerchantId,
    action: AuditEventType,
    now: datetime,
    *,
    subject: UUID | str | None = None,
    name: str | None = None,
    changed: Changes | None = None,
    by: Author | None = None,
) -> None:
    """Write down what is done, by whoever asks for it unless said otherwise.

    `whose`: the environment where the deed is of one. `subject` is what it is done to, `name` what that is called now.
    """
    merchant_id, mode = (whose.merchant_id, whose.mode) if isinstance(whose, MerchantEnv) else (whose, None)
    about = About(None if subject is None else str(subject), name, _json(changed))
    await store.note(tx, merchant_id, new_id(), now, mode, action, by or author.current(), about)


async def note_of_person(tx: Tx, user_id: UUID, action: AuditEventType, now: datetime, by: Author) -> None:
    """The same where only the person is known whose account it is. Of an operator's nothing is written."""
    await store.note_of_person(tx, user_id, new_id(), now, action, by)


def _json(changed: Changes | None) -> str | None:
    return msgspec.json.encode(changed).decode() if changed else None
