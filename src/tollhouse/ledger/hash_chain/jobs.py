"""The job that adds blocks to the hash chain, and logs each head: logs are often kept on another machine."""

import msgspec

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.ledger.hash_chain import chain
from tollhouse.platform.log.events import log


async def append_blocks(services: Services) -> None:
    """Cover what is new since the last block."""
    dsn = services.settings.database_url
    if dsn is None:
        raise AssertionError("services have a database URL")
    for head in await chain.append(dsn, services.keys, clock.now()):
        log.info("hash_chain_block_signed", head=msgspec.json.encode(head).decode())
