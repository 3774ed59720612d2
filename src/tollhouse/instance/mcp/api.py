"""The endpoint `/mcp`: who may call it, and what is answered where the protocol asks for an HTTP error.

The SDK takes 32 MiB and most of a second to import, so that is done in a thread by the first request, and by none where
nobody connects an agent.
"""

import asyncio
import sys
from importlib import import_module

from starlette.responses import Response

from tollhouse.accounts.identity.guards import CredentialGuard
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.json_text import parse_json
from tollhouse.http.operations import MCP, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.errors import CrossOriginForbidden, TemporarilyUnavailable
from tollhouse.kernel.limits import MCP_REQUEST_S
from tollhouse.kernel.resources import PATHS
from tollhouse.platform.settings.values import is_local_origin

OPERATIONS = Operations(MCP)
SERVER = "tollhouse.instance.mcp.server"


class AgentGuard(CredentialGuard):
    """A credential, sent by a program or by a page of this service, of this machine, or of an origin in the settings."""

    async def admit(self, request: Request) -> Caller:
        """Origin 403, then what `CredentialGuard` says. Scopes are checked by the operations that a tool calls."""
        settings = request.services.settings
        for origin in request.headers.getlist("origin"):
            if origin != settings.origin and origin not in settings.mcp_origins and not is_local_origin(origin):
                raise CrossOriginForbidden
        return await super().admit(request)


@OPERATIONS.add("POST", PATHS["mcp"], guard=AgentGuard(resource="mcp"), responses=dict[str, object])
async def mcp(request: Request, caller: Caller) -> Response:
    """Send a message of the Model Context Protocol."""
    request.require_json()
    parse_json(request.raw)  # the SDK is less strict, and two parsers must not read two messages
    if SERVER not in sys.modules:
        await asyncio.to_thread(import_module, SERVER)
    from tollhouse.instance.mcp.server import MessageExchange  # noqa: PLC0415 - see above

    try:
        async with asyncio.timeout(MCP_REQUEST_S):
            return await MessageExchange(request, caller).response()
    except TimeoutError as error:
        raise TemporarilyUnavailable(detail=f"more than {MCP_REQUEST_S} s") from error
