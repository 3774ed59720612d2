"""`tollhouse trace`: the whole story of a payment, of another object, or of a request."""

from typing import Annotated
from uuid import UUID

import msgspec
from cyclopts import Parameter

from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import print_table, run
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.instance.trace.model import Trace
from tollhouse.instance.trace.story import trace
from tollhouse.kernel import clock

Named = Annotated[
    UUID, Parameter(help="The ID of a payment, link, refund, withdrawal, event or other object, or an X-Request-Id.")
]


def print_trace(named: Named, /, *, as_json: Json = False) -> int:
    """Print everything that happened to an object, or by a request, in order of time.

    Requests, operators' actions, the audit log, states, reports of rails, the ledger, events and attempts to deliver them.
    Finds objects of all merchants in both environments, and changes nothing. Exits 1 if nothing has this ID.
    """

    async def read(services: Services) -> Trace | None:
        return await trace(services, named, clock.now())

    found = run(read)
    if isinstance(found, int):
        return found
    if found is None:
        stderr.print(
            f"Nothing has the ID {named}: no object or event, and no request that is in the log or changed one.",
            style="red",
            markup=False,
        )
        return 1
    if as_json:
        print(msgspec.json.encode(found).decode())
        return 0
    print_table(found.entries)
    for line in found.left_out:
        stderr.print(line, markup=False)
    return 0
