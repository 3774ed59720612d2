"""SQL of the financial summary. What its lines say is in the running totals of the ledger."""

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Tx

CURRENCIES = """
    SELECT DISTINCT currency FROM ledger_accounts WHERE owner = $1 AND mode = $2 AND ($3::text IS NULL OR currency = $3)
"""


async def list_currencies(tx: Tx, env: MerchantEnv, currency: str | None) -> set[str]:
    """The currencies with entries; only the given one, if any."""
    return {row["currency"] for row in await tx.fetch(CURRENCIES, env.merchant_id, env.mode, currency)}
