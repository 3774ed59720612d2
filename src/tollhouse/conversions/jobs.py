"""What the worker does for conversions: follows the rules of merchants whose balance changed."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tollhouse.conversions import quotes_store, rules, rules_store
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.ledger.model import BalanceLimitExceeded
from tollhouse.platform.log import log

AT_ONCE = 50
QUOTES_KEPT = timedelta(days=30)


async def follow_rules(services: Services) -> None:
    """Convert what rules say, each in a transaction of its own."""
    now = clock.now()
    for env, rule_id in await rules_store.due(services.db, now, AT_ONCE):
        try:
            await services.db.transact(lambda tx, env=env, rule_id=rule_id: rules.follow(tx, env, rule_id, services, now))
        except BalanceLimitExceeded:  # nothing was looked at: the same counts again
            log.info("rule not followed", detail=BalanceLimitExceeded.code)
            await services.db.transact(lambda tx, env=env, rule_id=rule_id: rules.put_off(tx, env, rule_id, now))
        except ApiError as lost:  # the money went meanwhile; the rule looks again
            log.info("rule not followed", detail=lost.code)


async def forget_quotes(services: Services) -> None:
    """Delete quotes that nobody can use any more."""
    await quotes_store.forget(services.db, clock.now() - QUOTES_KEPT)


JOBS: tuple[Callable[[Services], Awaitable[None]], ...] = (follow_rules,)
"""To be run every moment."""

HOURLY: tuple[Callable[[Services], Awaitable[None]], ...] = (forget_quotes,)
