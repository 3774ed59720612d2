"""What goes wrong between us and PostgreSQL: which faults are over by themselves, and which spoil a connection."""

import asyncio

import asyncpg

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.partitions import is_missing

CONNECTION_LOST = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
"""The database is not there, or went while we talked to it."""
UNREACHABLE = (*CONNECTION_LOST, asyncpg.PostgresError, TimeoutError)
"""Connecting failed."""
STANDBY = (asyncpg.ReadOnlySQLTransactionError,)
"""The server is a standby by now, and so is whatever the other connections reach."""
UNUSABLE = (
    *CONNECTION_LOST,
    *STANDBY,
    asyncio.CancelledError,
    asyncpg.InvalidCachedStatementError,
    asyncpg.OutOfMemoryError,
    asyncpg.PostgresSystemError,
    asyncpg.DatabaseDroppedError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""What leaves a connection that nobody should get again."""
UNAVAILABLE = (
    *CONNECTION_LOST,
    *STANDBY,
    asyncpg.InvalidCachedStatementError,
    asyncpg.InsufficientResourcesError,  # disk full, out of memory, too many connections
    asyncpg.OperatorInterventionError,  # shutting down, starting, canceled
    asyncpg.PostgresSystemError,  # the server's disk failed
    asyncpg.TransactionRollbackError,  # deadlock, serialization
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""What a caller may try again shortly: nothing was done."""


class OutcomeUnknown(TemporarilyUnavailable):
    """503: the database went before it confirmed a commit. The change may have been made."""

    message = "The outcome is unknown. Repeat the request with the same Idempotency-Key to learn it."


def is_unavailable(fault: BaseException) -> bool:
    """Whether this fault is over by itself, soon: 503, not 500."""
    return isinstance(fault, UNAVAILABLE) or is_missing(fault)
