"""The Python SDK of Tollhouse. `Tollhouse(base_url, api_key)` calls the Integration API; the README says the rest."""

from tollhouse_sdk.auth import ApiKey, Auth, OAuth
from tollhouse_sdk.checkpoints import Checkpoint, FileCheckpoint, MemoryCheckpoint, Position, SqlCheckpoint
from tollhouse_sdk.client import AsyncTollhouse, Tollhouse
from tollhouse_sdk.connect import Application, AsyncApplication, Authorization, DeviceCode
from tollhouse_sdk.errors import (
    ApiError,
    CallbackInvalid,
    ConnectionFailed,
    EventsExpired,
    FeedReset,
    LockTimeout,
    NotConnected,
    SignatureInvalid,
    TollhouseError,
)
from tollhouse_sdk.feed import AsyncFeed, Feed, FeedEvent, FeedPage, Reading
from tollhouse_sdk.generated import error_types, models
from tollhouse_sdk.intents import FileIntents, Intent, IntentStore, SqlIntents
from tollhouse_sdk.retries import Retries
from tollhouse_sdk.sql import Database
from tollhouse_sdk.tokens import FileTokens, Grant, MemoryTokens, SqlTokens, TokenStorage
from tollhouse_sdk.webhooks import verify

__all__ = [
    "ApiError",
    "ApiKey",
    "Application",
    "AsyncApplication",
    "AsyncFeed",
    "AsyncTollhouse",
    "Auth",
    "Authorization",
    "CallbackInvalid",
    "Checkpoint",
    "ConnectionFailed",
    "Database",
    "DeviceCode",
    "EventsExpired",
    "Feed",
    "FeedEvent",
    "FeedPage",
    "FeedReset",
    "FileCheckpoint",
    "FileIntents",
    "FileTokens",
    "Grant",
    "Intent",
    "IntentStore",
    "LockTimeout",
    "MemoryCheckpoint",
    "MemoryTokens",
    "NotConnected",
    "OAuth",
    "Position",
    "Reading",
    "Retries",
    "SignatureInvalid",
    "SqlCheckpoint",
    "SqlIntents",
    "SqlTokens",
    "TokenStorage",
    "Tollhouse",
    "TollhouseError",
    "error_types",
    "models",
    "verify",
]
