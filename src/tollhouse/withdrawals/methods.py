"""Which withdrawal methods there are in an environment, and why each one that cannot be used cannot be used."""

from typing import Literal

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.catalogue.withdrawal_methods import WITHDRAWAL_METHODS, WithdrawalMethod
from tollhouse.kernel.ids import Mode
from tollhouse.rails.configured import fault
from tollhouse.rails.provider import RailFault

SANDBOX = "sandbox"
UnavailableReason = RailFault | Literal["not_in_environment", "disabled_by_operator", "currency_not_supported"]


def listed(mode: Mode) -> list[WithdrawalMethod]:
    """Every method that an environment lists: the sandbox's in test only, all others always."""
    return [method for method in WITHDRAWAL_METHODS.values() if method.rail != SANDBOX or mode == "test"]


def unavailable_reason(method: WithdrawalMethod, mode: Mode) -> UnavailableReason | None:
    """What stands against a method in this environment now; None where nothing does."""
    if (method.rail == SANDBOX) != (mode == "test"):
        return "not_in_environment"
    if not method.enabled:
        return "disabled_by_operator"
    if not CURRENCIES[method.currency].operations.withdrawals:
        return "currency_not_supported"
    return fault(method.rail, mode)
