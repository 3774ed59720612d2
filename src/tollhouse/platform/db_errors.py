"""Errors of PostgreSQL connections: which are temporary, and which make a connection unusable."""

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
"""The server cannot be reached, or closed the connection."""
UNREACHABLE = (*CONNECTION_LOST, asyncpg.PostgresError, TimeoutError)
"""A new connection could not be opened."""
STANDBY = (asyncpg.ReadOnlySQLTransactionError,)
"""The server has become a standby; the idle connections reach the same one."""
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
"""Errors after which a connection is closed instead of reused."""
CONFLICTS = (asyncpg.IntegrityConstraintViolationError, asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
"""Errors of deferred writes after which the action runs again, without deferring."""
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
"""Errors after which the caller can retry: nothing was written."""

FILE_ERRORS = (LookupError, FileNotFoundError, PermissionError)
"""Kinds of `OSError` that no open connection raises: Jinja's `TemplateNotFound` and errors of files."""


class OutcomeUnknown(TemporarilyUnavailable):
    """503: the connection was lost before a commit was confirmed. The change may have been made."""

    message = "The outcome is unknown. Repeat the request with the same Idempotency-Key to get it."


def is_unavailable(error: BaseException) -> bool:
    """Whether the same request can succeed shortly: 503, not 500."""
    return (isinstance(error, UNAVAILABLE) and not isinstance(error, FILE_ERRORS)) or is_missing(error)
