"""E-mail addresses: whether mail reaches the person who signs in with one. See `callers.verified` for what needs it."""

from tollhouse.audit import author, record
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.identity.model import Person
from tollhouse.mail import links, outbox
from tollhouse.mail import store as mail_store
from tollhouse.mail.links import LinkIsOver
from tollhouse.mail.model import Letter
from tollhouse.merchants import passwords_store as store
from tollhouse.merchants.passwords import count_asking
from tollhouse.platform.db import Tx


async def send_link(request: Request, person: Person) -> None:
    """Mail another link to who is signed in, unless their address is verified. Raises `RateLimited`."""
    if person.verified:
        return
    await count_asking(request, "verify", str(person.user_id))
    async with request.services.db.transaction() as tx:
        await outbox.put(tx, Letter("verify", person.email, language_of(request), person.user_id), request.now)


async def address_of(request: Request, secret: str) -> tuple[str, bool]:
    """Which address this link verifies, and whether it has done so. Raises `LinkIsOver`."""
    holder = await links.holder_of(request, "verify", secret)
    if not holder.active and not holder.verified:
        raise LinkIsOver
    return holder.email, holder.verified


async def verify(request: Request, secret: str) -> str:
    """The address counts as verified. Said twice, it is well. Raises `LinkIsOver`."""
    holder = await links.holder_of(request, "verify", secret)
    if holder.verified:
        return holder.email

    async def action(tx: Tx) -> bool:
        if await mail_store.use(tx, "verify", holder.mail_id, request.now) != holder.user_id:
            return False
        await store.verify(tx, holder.user_id, request.now)
        by = author.person(request, holder.user_id)
        await record.note_of_person(tx, holder.user_id, "address.verified", request.now, by)
        return True

    if not await request.services.db.transact(action) and not (await links.holder_of(request, "verify", secret)).verified:
        raise LinkIsOver
    return holder.email
