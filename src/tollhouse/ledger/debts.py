"""Charging a merchant what it may not have: the available balance goes first, and the rest becomes its debt.

A debt is repaid by `ledger_post` itself, out of the next money that comes to the available balance.
"""

from collections.abc import Sequence

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger import store
from tollhouse.ledger.model import Account, EntryType, Line, available, debt
from tollhouse.platform.db import Tx


class Charge(Struct, frozen=True):
    """An amount that a merchant owes to an account, whether it has it or not."""

    type: EntryType
    amount_minor: int
    to: Account


async def lines_for(tx: Tx, env: MerchantEnv, currency: str, charges: Sequence[Charge]) -> tuple[Line, ...]:
    """The lines that take these charges, in this order, from what there is, and the rest as debt; to be posted at once."""
    there_minor = await store.lock_available(tx, env, currency)
    lines: list[Line] = []
    for charge in charges:
        taken_minor = min(there_minor, charge.amount_minor)
        there_minor -= taken_minor
        if taken_minor > 0:
            lines.append(Line(charge.type, currency, taken_minor, available(env), charge.to))
        if charge.amount_minor > taken_minor:
            lines.append(Line(charge.type, currency, charge.amount_minor - taken_minor, debt(env), charge.to))
    return tuple(lines)
