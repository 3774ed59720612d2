"""E-mail addresses: whether mail reaches the person who signs in with one. See `callers.verified` for what needs it."""

from tollhouse.audit import author, record
from tollhouse.callers.model import Person
from tollhouse.mail import links, outbox
from tollhouse.mail import store as mail_store
from tollhouse.mail.links import LinkIsOver
from tollhouse.mail.model import Letter
from tollhouse.merchants import passwords_store as store
from tollhouse.merchants.passwords import count_asking
from tollhouse.platform.db import Tx
from tollhouse.web.ask import Ask
from tollhouse.web.language_choice import language_of


async def send_link(ask: Ask, person: Person) -> None:
    """Mail another link to who is signed in, unless their address is verified. Raises `RateLimited`."""
    if person.verified:
        return
    await count_asking(ask, "verify", str(person.user_id))
    async with ask.house.db.transaction() as tx:
        await outbox.put(tx, Letter("verify", person.email, language_of(ask), person.user_id), ask.now)


async def address_of(ask: Ask, secret: str) -> tuple[str, bool]:
    """Which address this link verifies, and whether it has done so. Raises `LinkIsOver`."""
    holder = await links.holder_of(ask, "verify", secret)
    if not holder.living and not holder.verified:
        raise LinkIsOver
    return holder.email, holder.verified


async def verify(ask: Ask, secret: str) -> str:
    """The address counts as verified. Said twice, it is well. Raises `LinkIsOver`."""
    holder = await links.holder_of(ask, "verify", secret)
    if holder.verified:
        return holder.email

    async def deed(tx: Tx) -> bool:
        if await mail_store.use(tx, "verify", holder.mail_id, ask.now) != holder.user_id:
            return False
        await store.verify(tx, holder.user_id, ask.now)
        by = author.person(ask, holder.user_id)
        await record.note_of_person(tx, holder.user_id, "address.verified", ask.now, by)
        return True

    if not await ask.house.db.transact(deed) and not (await links.holder_of(ask, "verify", secret)).verified:
        raise LinkIsOver
    return holder.email
