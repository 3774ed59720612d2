"""The request log of the Integration API: what a credential may see of it."""

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.webhooks.request_log import store
from tollhouse.webhooks.request_log.model import OwnRequests, OwnRequestsQuery
from tollhouse.webhooks.request_log.retention import kept_since

OPERATIONS = Operations(INTEGRATION)
READ = scope("account:read")


@OPERATIONS.add("GET", "/request-log", guard=READ, errors=(ValidationFailed,))
async def read_request_log(caller: Caller, query: OwnRequestsQuery, request: Request) -> OwnRequests:
    """Read the request log. Requests of the last days, newest first, without what was sent and answered.

    An application sees its own requests, an API key those of all API keys of the environment. Requests of this endpoint are
    left out. The newest 10,000 requests of the environment before `before` are looked through.
    """
    since = kept_since(request.services, request.now)
    shown = await store.list_own(request.services.db, caller, query, since)
    return OwnRequests(shown[: query.limit], len(shown) > query.limit)
