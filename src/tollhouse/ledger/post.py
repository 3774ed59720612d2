"""Posting: the one way by which money moves. The database judges; its verdicts become refusals here."""

import asyncpg

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger import store
from tollhouse.ledger.model import AlreadyPosted, BalanceLimitExceeded, InsufficientFunds, Posted, Posting
from tollhouse.platform.db import Tx

FLOOR = "ledger_accounts_floor"
LIMIT = "ledger_accounts_limit"
ONCE = "ledger_transactions_once"


async def post(tx: Tx, posting: Posting) -> Posted:
    """Write a posting in one round trip.

    Raises `InsufficientFunds`, `BalanceLimitExceeded` and `AlreadyPosted`; `tx` is lost with each of them.
    """
    try:
        return await store.post(tx, posting)
    except asyncpg.CheckViolationError as fault:
        if fault.constraint_name == FLOOR:
            raise InsufficientFunds from fault
        if fault.constraint_name == LIMIT:
            raise BalanceLimitExceeded from fault
        raise
    except asyncpg.UniqueViolationError as fault:
        if fault.constraint_name == ONCE:
            raise AlreadyPosted from fault
        raise


async def has_room(tx: Tx, env: MerchantEnv, currency: str, amount_minor: int) -> bool:
    """Whether the balance can hold so much more; where it can, it can until this transaction ends."""
    return await store.room(tx, env, currency) >= amount_minor


async def ensure_room(tx: Tx, env: MerchantEnv, currency: str, amount_minor: int) -> None:
    """The same as a refusal, for those who write before they post: `tx` is not lost. Raises `BalanceLimitExceeded`."""
    if not await has_room(tx, env, currency, amount_minor):
        raise BalanceLimitExceeded
