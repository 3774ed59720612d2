"""What this package registers, and the jobs that delete old authorization requests, codes and access tokens.

Expiry is checked when a row is used; the jobs only bound the size of the tables. Grants stay as history.
"""

from datetime import timedelta

from tollhouse.http.services import Services, Work
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.kernel.limits import GRANT_S, REFRESH_RETRY_S
from tollhouse.oauth import (
    api,
    authorize,
    connections_store,
    device,
    disconnections,
    documents_store,
    introspect,
    metadata,
    par,
    protected_resources_api,
    reminders,
    requests_store,
    revoke,
    store,
    token,
)
from tollhouse.platform.database import partitions
from tollhouse.platform.database.cleanup import delete_in_batches

REQUESTS_RETENTION = timedelta(hours=1)
"""Longer than a request is valid, so that an open consent page can show that it expired."""

CODES_RETENTION = timedelta(seconds=GRANT_S) + timedelta(days=1)
"""Longer than the lifetime of a grant: a replayed code must still revoke its grant."""

EXPIRED_AT_ONCE = 500

TOKENS_RETENTION = timedelta(hours=6)
"""An expired token can still be revoked for six hours, which revokes its grant."""

DOCUMENTS_RETENTION = timedelta(days=1)


async def delete_requests(services: Services) -> None:
    """Delete authorization requests."""
    await delete_in_batches(services.db, requests_store.DELETE_REQUESTS, clock.now() - REQUESTS_RETENTION)


async def delete_codes(services: Services) -> None:
    """Delete authorization codes."""
    await delete_in_batches(services.db, requests_store.DELETE_CODES, clock.now() - CODES_RETENTION)


async def delete_refresh_retries(services: Services) -> None:
    """Delete the encrypted tokens of refreshes that cannot be repeated any more."""
    await delete_in_batches(services.db, store.DELETE_RETRIES, clock.now())


async def announce_expired(services: Services) -> None:
    """Announce connections that expired to their applications: each once, in the transaction that notes it."""
    now = clock.now()

    async def action(work: Work) -> int:
        number, expired = await connections_store.note_expired(work.tx, work.now, EXPIRED_AT_ONCE)
        await disconnections.announce(work, expired, "expired")
        return number

    while await services.transact(action, now) == EXPIRED_AT_ONCE:
        pass


async def delete_documents(services: Services) -> None:
    """Delete documents of applications that were fetched more than a day ago."""
    await delete_in_batches(services.db, documents_store.DELETE_OLD, clock.now() - DOCUMENTS_RETENTION)


async def delete_document_clients(services: Services) -> None:
    """Delete applications that are known by a document and that nobody has connected."""
    await delete_in_batches(services.db, documents_store.DELETE_UNUSED_CLIENTS, clock.now() - DOCUMENTS_RETENTION)


async def drop_token_partitions(services: Services) -> None:
    """Drop past partitions of access tokens, six hours each."""
    await partitions.drop_ended(services.db, "oauth_access_tokens", clock.now() - TOKENS_RETENTION)


SLICE = Slice(
    operations=(
        *metadata.OPERATIONS,
        *protected_resources_api.OPERATIONS,
        *token.OPERATIONS,
        *revoke.OPERATIONS,
        *introspect.OPERATIONS,
        *par.OPERATIONS,
        *authorize.OPERATIONS,
        *device.OPERATIONS,
        *api.DASHBOARD_OPERATIONS,
    ),
    jobs=(
        Job(600, delete_requests),
        Job(REFRESH_RETRY_S, delete_refresh_retries),
        Job(60, announce_expired),
        Job(HOURLY_S, reminders.send_expiring),
        Job(HOURLY_S, delete_codes),
        Job(HOURLY_S, delete_documents),
        Job(HOURLY_S, delete_document_clients),
        Job(HOURLY_S, drop_token_partitions),
    ),
)
