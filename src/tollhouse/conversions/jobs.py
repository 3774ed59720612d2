"""What the worker does for conversions: follows the rules of merchants whose balance changed."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tollhouse.conversions import quotes_store, rules, rules_store
from tollhouse.kernel import clock
from tollhouse.kernel.refusals import Refusal
from tollhouse.ledger.model import BalanceLimitExceeded
from tollhouse.platform.log import log
from tollhouse.web.house import House

AT_ONCE = 50
QUOTES_KEPT = timedelta(days=30)


async def follow_rules(house: House) -> None:
    """Convert what rules say, each in a transaction of its own."""
    now = clock.now()
    for env, rule_id in await rules_store.due(house.db, now, AT_ONCE):
        try:
            await house.db.transact(lambda tx, env=env, rule_id=rule_id: rules.follow(tx, env, rule_id, house, now))
        except BalanceLimitExceeded:  # nothing was looked at: the same counts again
            log.info("rule not followed", detail=BalanceLimitExceeded.code)
            await house.db.transact(lambda tx, env=env, rule_id=rule_id: rules.put_off(tx, env, rule_id, now))
        except Refusal as lost:  # the money went meanwhile; the rule looks again
            log.info("rule not followed", detail=lost.code)


async def forget_quotes(house: House) -> None:
    """Delete quotes that nobody can use any more."""
    await quotes_store.forget(house.db, clock.now() - QUOTES_KEPT)


JOBS: tuple[Callable[[House], Awaitable[None]], ...] = (follow_rules,)
"""To be run every moment."""

HOURLY: tuple[Callable[[House], Awaitable[None]], ...] = (forget_quotes,)
