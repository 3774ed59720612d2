"""Background jobs of conversions: apply the rules of merchants whose balance changed."""

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.platform.log.events import log
from tollhouse.transfers.conversions import price_feed, rules, rules_store, store
from tollhouse.transfers.conversions.errors import PairUnavailable
from tollhouse.transfers.orders import quotes

BATCH_SIZE = 50


async def apply_rules(services: Services) -> None:
    """Apply the rules that are due, each in its own transaction."""
    now = clock.now()
    for env, rule_id in await rules_store.list_due(services.db, now, BATCH_SIZE):
        try:
            await services.transact(lambda work, env=env, rule_id=rule_id: rules.apply(work, env, rule_id), now)
        except (BalanceLimitExceeded, PairUnavailable) as error:  # rolled back, so the same entries count again
            log.info("conversion_rule_failed", detail=error.code)
            await services.db.transact(lambda tx, env=env, rule_id=rule_id: rules.postpone(tx, env, rule_id, now))
        except ApiError as error:  # the balance changed meanwhile; the rule stays due
            log.info("conversion_rule_failed", detail=error.code)


async def read_prices(services: Services) -> None:
    """Read the configured source of prices when it is due."""
    feed = services.catalogue.price_feed
    if feed is not None:
        await price_feed.fetch(services, feed, clock.now())


async def delete_old_quotes(services: Services) -> None:
    """Delete quotes that expired long ago."""
    await services.db.execute(store.DELETE_OLD_QUOTES, clock.now() - quotes.RETENTION)
