"""Emails to merchants that an application is not connected any more, and revoking all grants of an application."""

from uuid import UUID

from tollhouse.accounts.identity import emails
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, mail_name
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.oauth import clients_store, connections_store
from tollhouse.oauth.connections_model import ENDED_REASONS
from tollhouse.oauth.model import LockedClient


async def send_email(work: Work, env: MerchantEnv, name: str, occasion: UUID) -> None:
    """Send to a merchant that the application of this name was disconnected."""
    await emails.notify(work, env, "application_disconnected", occasion, lambda _: _facts(name))


async def revoke_all(work: Work, owner: MerchantId, client: LockedClient, reason: str) -> None:
    """Revoke every grant, unexchanged code and pending request of an application, and send it to its merchants."""
    await clients_store.wait_for_exchanges(work.tx, client.client_id)
    users = await connections_store.list_to_notify(work.tx, client.client_id, work.now)
    facts = _facts(client.name)
    emails = [
        Email("application_disconnected", user["email"], user["language"], user["id"], facts, str(user["grant_id"]))
        for user in users
    ]
    await outbox.enqueue_all(work.tx, emails, work.now)
    ended = await connections_store.list_to_announce(work.tx, client.client_id, work.now)
    await work.services.connection_webhooks.announce(work, "connection.ended", ended, ENDED_REASONS[reason])
    await clients_store.revoke_all_grants(work.tx, owner, client, reason, work.now)


def _facts(name: str) -> dict[str, str]:
    return {"name": mail_name(name), "path": "/settings/connected-apps"}
