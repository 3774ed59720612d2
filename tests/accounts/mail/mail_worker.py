"""What the worker does for mail, one step at a time."""

from typing import Any

from tests.accounts.mail.postbox import Postbox, Received
from tests.cast import Actor
from tests.running import Service
from tollhouse.accounts.mail import slice as jobs

STATE = """
    SELECT about, attempts, error, sent_at IS NOT NULL AS sent, given_up_at IS NOT NULL AS given_up,
           next_attempt_at > now() AS later
    FROM mails ORDER BY created_at, id
"""
DUE = "UPDATE mails SET next_attempt_at = now() - interval '1 ms' WHERE next_attempt_at IS NOT NULL"


class MailWorker:
    """A house with a relay, and the postbox behind it."""

    def __init__(self, service: Service, postbox: Postbox) -> None:
        self.service = service
        self.postbox = postbox
        self.services = service.create_services(connections=2)

    async def close(self) -> None:
        """Leave."""
        await self.services.db.close()

    async def send(self) -> None:
        """What is due."""
        await jobs.send_due(self.services)

    async def mail_to(self, actor: Actor) -> list[Received]:
        """What this person got by now."""
        await self.send()
        return self.postbox.to(actor.email)

    async def last_to(self, actor: Actor) -> Received:
        """The last of it."""
        return (await self.mail_to(actor))[-1]

    async def state(self) -> list[dict[str, Any]]:
        """How every mail stands."""
        return [dict(row) for row in await self.sql(STATE)]

    async def turn_the_clock(self) -> None:
        """To when the next attempts are due."""
        await self.sql(DUE)

    async def sql(self, statement: str, *args: Any) -> list[Any]:
        """Look into the database, or turn a clock in it."""
        return await self.service.sql(statement, *args)
