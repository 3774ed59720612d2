"""The check that a balance covers an order or a refund, made before the ledger makes it again."""

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.ledger.books.store import get_balance
from tollhouse.platform.database.pool import Tx


async def ensure_funds(tx: Tx, env: MerchantEnv, currency: str, required_minor: int) -> None:
    """Raises `InsufficientFunds` with the available and the required amount."""
    available_minor = (await get_balance(tx, env, currency)).available_minor
    if available_minor < required_minor:
        details = {"available_minor": available_minor, "required_minor": required_minor, "currency": currency}
        raise InsufficientFunds(details)
