"""The OAuth protocol: metadata, permissions, authorize, token, revoke."""

from tollhouse.http.operations import Operation
from tollhouse.oauth import endpoints

OPERATIONS: list[Operation] = [*endpoints.PROTOCOL_OPERATIONS, *endpoints.AUTHORIZE_OPERATIONS]
