"""The job that adds what was posted to the daily totals."""

from tollhouse.http.services import Services
from tollhouse.ledger.accounting import store

EVERY_S = 60


async def add_daily_totals(services: Services) -> None:
    """Add what was posted until 15 minutes ago, an hour at a time, each in a transaction of its own."""
    while await services.db.transact(store.add_next_hour):
        pass
