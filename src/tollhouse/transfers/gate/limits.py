"""The limits of withdrawal methods: per amount and per day."""

from datetime import UTC, date, datetime, time, timedelta

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import store
from tollhouse.transfers.gate.errors import DailyLimitExceeded
from tollhouse.transfers.gate.model import DailyCount
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum


def method_of(rail: str, currency: str, catalogue: Catalogue) -> WithdrawalMethod | None:
    """The withdrawal method of a rail and currency, if there is one."""
    return next((one for one in catalogue.withdrawal_methods.values() if (one.rail, one.currency) == (rail, currency)), None)


def ensure_amount(method: WithdrawalMethod, amount_minor: int) -> None:
    """Raises `AmountBelowMinimum` and `AmountAboveMaximum`."""
    if amount_minor < method.minimum_minor:
        raise AmountBelowMinimum(method.minimum_minor)
    if method.maximum_minor is not None and amount_minor > method.maximum_minor:
        raise AmountAboveMaximum(method.maximum_minor)


async def left_today(tx: Tx, env: MerchantEnv, method: WithdrawalMethod, now: datetime) -> int | None:
    """What the daily limit leaves in minor units; None without a limit."""
    if method.daily_limit_minor is None:
        return None
    day = await store.today(tx, env, now)
    return max(0, method.daily_limit_minor - await store.sum_of_day(tx, env, method.method_id, day))


async def count(tx: Tx, env: MerchantEnv, method: WithdrawalMethod, amount_minor: int, day: date) -> DailyCount:
    """Add the amount to the total of the environment's day. Raises `DailyLimitExceeded`."""
    counted = DailyCount(method.method_id, day, amount_minor)
    if not await store.add_to_day(tx, env, counted, method.daily_limit_minor):
        left_minor = (method.daily_limit_minor or 0) - await store.sum_of_day(tx, env, method.method_id, counted.day)
        raise DailyLimitExceeded(max(0, left_minor), datetime.combine(counted.day + timedelta(days=1), time(), UTC))
    return counted
