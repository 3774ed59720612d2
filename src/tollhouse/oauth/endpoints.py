"""The operations of this slice, by the door they stand behind."""

from tollhouse.oauth import api, authorize, consent, metadata, revoke, token
from tollhouse.web.operations import Operation

DASHBOARD_OPERATIONS: list[Operation] = api.DASHBOARD_OPERATIONS
PROTOCOL_OPERATIONS: list[Operation] = [*metadata.OPERATIONS, *token.OPERATIONS, *revoke.OPERATIONS]
AUTHORIZE_OPERATIONS: list[Operation] = authorize.OPERATIONS
PAGE_OPERATIONS: list[Operation] = consent.OPERATIONS
