"""The OAuth protocol: metadata, permissions, authorize, token, revoke."""

from tollhouse.oauth import endpoints
from tollhouse.web.operations import Operation

OPERATIONS: list[Operation] = [*endpoints.PROTOCOL_OPERATIONS, *endpoints.AUTHORIZE_OPERATIONS]
