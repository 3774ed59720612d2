"""Notifications: emails to the users of a merchant about what happened in live mode, in the transaction of what happened.

Each user gets one for each occasion, in the own language, unless the user turned the topic off. Test mode sends none.
"""

from collections.abc import Callable

from tollhouse.accounts.identity import users_store
from tollhouse.accounts.mail import outbox
from tollhouse.accounts.mail.model import TOPICS, Email, EmailKind
from tollhouse.http.local_formats import Formats
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv

Facts = Callable[[Formats], dict[str, str]]


async def notify(work: Work, env: MerchantEnv, kind: EmailKind, occasion: object, facts: Facts) -> None:
    """Enqueue an email to each user of the merchant who wants it."""
    if not env.livemode:
        return
    users = await users_store.list_to_notify(work.tx, env.merchant_id, TOPICS[kind])
    emails = [
        Email(kind, user["email"], user["language"], user["id"], facts(Formats(user["language"])), str(occasion))
        for user in users
    ]
    await outbox.enqueue_all(work.tx, emails, work.now)
