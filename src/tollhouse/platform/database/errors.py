"""Errors of PostgreSQL connections: which are temporary, and which make a connection unusable."""

import asyncio
import errno
import socket

import asyncpg

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database.partitions import is_missing

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
CHANGED_MEANWHILE = {"proposals_approved"}
"""Constraints that refuse what a setting allowed when it was let in: a repetition gets the error of the setting."""

FILE_ERRORS = (LookupError, FileNotFoundError, PermissionError)
"""Kinds of `OSError` that no open connection raises: Jinja's `TemplateNotFound` and errors of files."""


class OutcomeUnknown(TemporarilyUnavailable):
    """503: the connection was lost before a commit was confirmed. The change may have been made."""

    message = "The outcome is unknown. Repeat the request with the same Idempotency-Key to get it."


REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (asyncpg.ReadOnlySQLTransactionError, "the server accepts no writes"),
    (asyncpg.DiskFullError, "the disk of the server is full"),
    (asyncpg.OutOfMemoryError, "the server is out of memory"),
    (asyncpg.TooManyConnectionsError, "the server has no connection left"),
    (asyncpg.CannotConnectNowError, "the server is starting or stopping"),
    (asyncpg.AdminShutdownError, "the server ended the connection"),
    (asyncpg.CrashShutdownError, "a process of the server crashed"),
    (asyncpg.InvalidCatalogNameError, "the database does not exist"),
    (asyncpg.InvalidAuthorizationSpecificationError, "the server refuses the role or its password"),
    (asyncpg.InsufficientPrivilegeError, "the role lacks a privilege"),
    (asyncpg.LockNotAvailableError, "a lock was not available in time"),
    (asyncpg.QueryCanceledError, "the statement took too long"),
    (asyncpg.DeadlockDetectedError, "two transactions waited for each other"),
    (asyncpg.PostgresConnectionError, "the connection was lost"),
    (asyncpg.InterfaceError, "the connection was lost"),
    (ConnectionRefusedError, "no server listens at its address"),
    (socket.gaierror, "the name of the server cannot be resolved"),
    (TimeoutError, "no response in time"),
)
"""What errors of the database mean, in words for an administrator."""


def reason_of(error: BaseException) -> str:
    """Why the database cannot be used, in words; what the system or the server says of other errors."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk is full"
    for kind, words in REASONS:
        if isinstance(error, kind):
            return words
    said = str(error) if error.args else ""  # one without arguments has no text
    return (error.strerror if isinstance(error, OSError) else None) or said or type(error).__name__


def is_unavailable(error: BaseException) -> bool:
    """Whether the same request can succeed shortly: 503, not 500."""
    if getattr(error, "constraint_name", None) in CHANGED_MEANWHILE:
        return True
    return (isinstance(error, UNAVAILABLE) and not isinstance(error, FILE_ERRORS)) or is_missing(error)
