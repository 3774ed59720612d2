"""What this package registers: the jobs that delete expired sessions, devices and failed attempts.

Expiry is checked when a row is used; the jobs only bound the size of the tables.
"""

from datetime import timedelta

from tollhouse.accounts.identity import (
    address_api,
    address_changes_store,
    devices_api,
    jti_store,
    operators_store,
    passkeys_api,
    sessions_store,
    store,
    users_store,
)
from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.kernel.limits import ADDRESS_REQUEST_KEPT_S, KNOWN_DEVICE_S, OPERATOR_SESSION_IDLE_S, SESSION_IDLE_S
from tollhouse.platform.database.cleanup import delete_in_batches


async def delete_sessions(services: Services) -> None:
    """Delete idle sessions. An ended or expired session is no longer used, so it becomes idle too."""
    await _delete(services, sessions_store.DELETE_IDLE, SESSION_IDLE_S)


async def delete_operator_sessions(services: Services) -> None:
    """Delete idle sessions of operators."""
    await _delete(services, operators_store.DELETE_IDLE, OPERATOR_SESSION_IDLE_S)


async def delete_devices(services: Services) -> None:
    """Delete devices without a recent sign-in."""
    await _delete(services, users_store.DELETE_UNUSED_DEVICES, KNOWN_DEVICE_S)


async def delete_address_requests(services: Services) -> None:
    """Delete requests to change an address that were not confirmed."""
    await _delete(services, address_changes_store.DELETE_UNCONFIRMED, ADDRESS_REQUEST_KEPT_S)


async def delete_failures(services: Services) -> None:
    """Delete failed attempts that no longer count."""
    await _delete(services, store.DELETE_OLD_FAILURES, 0)


async def delete_jtis(services: Services) -> None:
    """Delete the ids of signed tokens that have expired."""
    await _delete(services, jti_store.DELETE_EXPIRED, 0)


async def _delete(services: Services, statement: str, age_s: int) -> None:
    await delete_in_batches(services.db, statement, clock.now() - timedelta(seconds=age_s))


SLICE = Slice(
    operations=(*address_api.OPERATIONS, *devices_api.OPERATIONS, *passkeys_api.OPERATIONS),
    jobs=(
        Job(60, delete_failures),
        Job(60, delete_jtis),
        Job(HOURLY_S, delete_sessions),
        Job(HOURLY_S, delete_operator_sessions),
        Job(HOURLY_S, delete_devices),
        Job(HOURLY_S, delete_address_requests),
    ),
)
