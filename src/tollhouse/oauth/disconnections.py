"""Notifications that an application is not connected any more, and revoking all grants of an application."""

from collections.abc import Sequence
from uuid import UUID

from tollhouse.accounts.mail.model import mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Work
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.oauth import clients_store, connections_store
from tollhouse.oauth.connections_model import ENDED_REASONS, EndedReason
from tollhouse.oauth.model import LockedClient


async def announce(work: Work, ended: Sequence[ChangedConnection], reason: EndedReason) -> None:
    """Notify merchants of connections that ended, and announce them to their applications."""
    occurrences = (_occurrence(connection.env, connection.name, connection.grant_id) for connection in ended)
    await notify_members(work, "application_disconnected", *occurrences)
    await work.services.connection_webhooks.announce(work, "connection.ended", ended, reason)


async def revoke_all(work: Work, owner: MerchantId, client: LockedClient, reason: str) -> None:
    """Revoke every grant, unexchanged code and pending request of an application, and notify its merchants."""
    await clients_store.wait_for_exchanges(work.tx, client.client_id)
    active = await connections_store.list_to_notify(work.tx, client.client_id, work.now)
    ended_grants = (_occurrence(env, client.name, grant_id) for env, grant_id in active)
    await notify_members(work, "application_disconnected", *ended_grants)
    ended = await connections_store.list_to_announce(work.tx, client.client_id, work.now)
    await work.services.connection_webhooks.announce(work, "connection.ended", ended, ENDED_REASONS[reason])
    await clients_store.revoke_all_grants(work.tx, owner, client, reason, work.now)


def _occurrence(env: MerchantEnv, name: str, occasion: UUID) -> Occurrence:
    return Occurrence(env, occasion, NoticeFacts(name=mail_name(name)))
