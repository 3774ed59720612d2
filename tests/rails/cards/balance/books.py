"""What tests of the balance at the card provider look at."""

from tests.rails.cards.steps import Shop
from tollhouse.kernel import clock
from tollhouse.rails.balances import measuring, store
from tollhouse.rails.balances.model import RailBalance, RailStatus
from tollhouse.rails.cards import balances
from tollhouse.rails.cards.stripe.cards import StripeCards

BALANCES = """
    SELECT a.code, sum(CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END)::bigint AS minor
    FROM ledger_accounts a JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
    WHERE a.mode = 'live' AND a.currency = $1 AND a.code IN ('rail:card', 'transit:card', 'expense:provider_fee')
    GROUP BY a.code
"""
OPEN = "SELECT external_id FROM provider_balance_transactions WHERE settled_at IS NULL ORDER BY external_id"


class Books:
    """What the ledger has of the provider, beside the balance there."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self.services, self.balance = shop, shop.services, shop.provider.balance
        self.cards = StripeCards(shop.provider.account)

    async def read(self) -> None:
        """Read and settle, as the job does."""
        await balances.read_new(self.services, self.cards, clock.now())
        await balances.settle(self.services, self.cards, clock.now())

    async def balances(self, currency: str = "EUR") -> dict[str, int]:
        """The accounts of the provider in the ledger."""
        return {row["code"]: row["minor"] for row in await self.shop.alice.sql(BALANCES, currency)}

    async def moved(self, before: dict[str, int], currency: str = "EUR") -> tuple[int, int, int]:
        """By how much the rail, what is in transit and the fees have grown."""
        now = await self.balances(currency)
        rail, transit, fees = (
            now.get(code, 0) - before.get(code, 0) for code in ("rail:card", "transit:card", "expense:provider_fee")
        )
        return rail, transit, fees

    async def open(self) -> list[str]:
        """What is not settled."""
        return [row["external_id"] for row in await self.shop.alice.sql(OPEN)]

    async def status(self, currency: str = "EUR") -> RailStatus:
        """What is measured now."""
        await measuring.measure(self.services, self.cards, clock.now())
        found = await store.list_latest(self.services.db)
        return next(status for status in found if (status.balance.rail, status.balance.currency) == ("card", currency))

    async def agreed(self, currency: str = "EUR") -> RailBalance:
        """The same, where everything is explained."""
        found = await self.status(currency)
        assert (found.failure, found.balance.difference_units, found.differs_since) == (None, 0, None)
        return found.balance
