"""The job that adds what was posted to the daily totals."""

from tollhouse.accounting import store
from tollhouse.http.services import Services

EVERY_S = 60


async def add_daily_totals(services: Services) -> None:
    """Add what was posted until 15 minutes ago, an hour at a time, each in a transaction of its own."""
    while await services.db.transact(store.add_next_hour):
        pass
