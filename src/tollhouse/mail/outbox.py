"""What is to be mailed to people is put here in the transaction of the deed that it is about."""

from datetime import datetime

from tollhouse.kernel.ids import new_id
from tollhouse.mail import store
from tollhouse.mail.model import Letter, useful_for
from tollhouse.platform.db import Tx


async def put(tx: Tx, letter: Letter, now: datetime) -> None:
    """Let it be sent as soon as this transaction has committed, and not at all otherwise."""
    await store.put(tx, new_id(), letter, now, now + useful_for(letter.about))
