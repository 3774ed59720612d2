"""Posting: the one way by which money moves. The database judges; its verdicts become refusals here."""

import asyncpg

from tollhouse.ledger import store
from tollhouse.ledger.model import AlreadyPosted, InsufficientFunds, Posted, Posting
from tollhouse.platform.db import Tx

FLOOR = "ledger_accounts_floor"
ONCE = "ledger_transactions_once"


async def post(tx: Tx, posting: Posting) -> Posted:
    """Write a posting in one round trip. Raises `InsufficientFunds` and `AlreadyPosted`; `tx` is lost with either."""
    try:
        return await store.post(tx, posting)
    except asyncpg.CheckViolationError as fault:
        if fault.constraint_name == FLOOR:
            raise InsufficientFunds from fault
        raise
    except asyncpg.UniqueViolationError as fault:
        if fault.constraint_name == ONCE:
            raise AlreadyPosted from fault
        raise
