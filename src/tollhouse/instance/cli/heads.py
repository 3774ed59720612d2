"""`tollhouse heads`: the signed heads of the hash chain, to keep outside of this machine."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from cyclopts import Parameter

from tollhouse.http.services import Services
from tollhouse.instance.cli.database import NoDatabaseError, run_with_services
from tollhouse.instance.cli.options import stderr
from tollhouse.ledger.hash_chain import chain
from tollhouse.ledger.hash_chain.model import Head

Since = Annotated[datetime | None, Parameter(help="Print every head since this day or time (UTC) instead of the last one.")]


def print_heads(*, since: Since = None) -> int:
    """Print the signed head of the hash chain, as a line of JSON. Compare it later: `tollhouse check --head FILE`."""

    async def list_heads(services: Services) -> list[Head]:
        async with services.db.connection() as tx:
            return await chain.list_heads(tx, since if since is None or since.tzinfo else since.replace(tzinfo=UTC))

    try:
        heads = run_with_services(list_heads)
    except NoDatabaseError as error:
        stderr.print(str(error), style="red", markup=False)
        return 1
    for head in heads:
        print(msgspec.json.encode(head).decode())
    if not heads:
        stderr.print("There is no head yet. The worker signs one every hour.")
    return 0
