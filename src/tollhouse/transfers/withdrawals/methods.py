"""The withdrawal methods of an environment, and why a method is unavailable."""

from typing import Literal

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import RailError
from tollhouse.kernel.rails.registry import Rails

SANDBOX = "sandbox"
UnavailableReason = RailError | Literal["not_in_environment", "disabled_by_operator", "currency_not_supported"]


def list_methods(mode: Mode, catalogue: Catalogue) -> list[WithdrawalMethod]:
    """The methods of an environment, available or not. Those of the sandbox rail are listed in test mode only."""
    return [method for method in catalogue.withdrawal_methods.values() if method.rail != SANDBOX or mode == "test"]


def unavailable_reason(method: WithdrawalMethod, mode: Mode, rails: Rails, catalogue: Catalogue) -> UnavailableReason | None:
    """Why a method cannot be used in an environment now; None where it can."""
    if (method.rail == SANDBOX) != (mode == "test"):
        return "not_in_environment"
    if not method.enabled:
        return "disabled_by_operator"
    if not catalogue.currencies[method.currency].operations.withdrawals:
        return "currency_not_supported"
    return rails.payout_error(method.rail, mode, method.currency)
