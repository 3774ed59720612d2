"""The operators' page about the rails of live mode, and the payouts on networks that have not ended."""

from starlette.responses import Response

from tollhouse.console import network_payouts
from tollhouse.console.layout import render
from tollhouse.console.rails import list_rails
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/operator/rails", guard=operator_page)
async def rails(request: Request, caller: Operator) -> Response:
    """Each rail with its health, the wallet that pays, and payouts that have not ended."""
    services = request.services
    return await render(
        request,
        caller,
        "rails",
        here="rails",
        rails=await list_rails(services, request.now),
        payouts=await network_payouts.list_open(services.db, services.catalogue),
    )
