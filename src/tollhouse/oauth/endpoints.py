"""The operations of this slice, by the door they stand behind."""

from tollhouse.http.operations import Operation
from tollhouse.oauth import (
    api,
    app_connection_pages,
    app_danger_pages,
    app_pages,
    app_settings_pages,
    authorize,
    connected_apps_pages,
    consent,
    metadata,
    revoke,
    token,
)

DASHBOARD_OPERATIONS: list[Operation] = api.DASHBOARD_OPERATIONS
PROTOCOL_OPERATIONS: list[Operation] = [*metadata.OPERATIONS, *token.OPERATIONS, *revoke.OPERATIONS]
AUTHORIZE_OPERATIONS: list[Operation] = authorize.OPERATIONS
PAGE_OPERATIONS: list[Operation] = [
    *consent.OPERATIONS,
    *app_pages.OPERATIONS,
    *app_settings_pages.OPERATIONS,
    *app_danger_pages.OPERATIONS,
    *app_connection_pages.OPERATIONS,
    *connected_apps_pages.OPERATIONS,
]
