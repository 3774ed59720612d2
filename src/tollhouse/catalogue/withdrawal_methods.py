"""The ways to withdraw: those that live mode knows, from a data file, and the sandbox's, one for each currency."""

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.catalogue.currencies import BUILT_IN as BUILT_IN_CURRENCIES
from tollhouse.catalogue.currencies import Words
from tollhouse.catalogue.methods import Fees, Minor
from tollhouse.kernel.money import MINOR_MAX

FeeMode = Literal["deduct", "add"]
ReceiverType = Literal["iban", "evm_address", "bitcoin_address", "sandbox"]
Limit = Annotated[int, Meta(ge=1, le=MINOR_MAX)]
DATA = "withdrawal_methods.toml"


class WithdrawalMethod(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A way to withdraw. `fees` are the platform's, `network_fee_minor` is what the rail is paid for.

    `provider_fields` is the JSON Schema of what the rail wants to know of the receiver beside its number. Above
    `second_operator_above_minor` two operators must approve in live mode.
    """

    method_id: str
    name: Words
    rail: Annotated[str, Meta(pattern="^[a-z0-9_]{1,32}$")]
    enabled: bool = True
    minimum_minor: Limit = 1
    maximum_minor: Limit | None = None
    daily_limit_minor: Limit | None = None
    network_fee_modes: Annotated[tuple[FeeMode, ...], Meta(min_length=1)] = ("deduct", "add")
    fees: Fees = Fees()
    network_fee_minor: Minor = 0
    receiver_type: ReceiverType
    provider_fields: dict[str, Any]
    second_operator_above_minor: Minor | None = None
    arrives_in_s: Annotated[int, Meta(ge=0)] | None = None

    @property
    def network(self) -> str:
        """What carries it: the part of the id before the colon."""
        return self.method_id.partition(":")[0]

    @property
    def currency(self) -> str:
        """What is withdrawn: the part of the id behind the colon."""
        return self.method_id.partition(":")[2]

    def approvals_needed(self, amount_minor: int) -> int:
        """How many operators must approve this amount in live mode."""
        above = self.second_operator_above_minor
        return 2 if above is not None and amount_minor > above else 1


def sandbox_withdrawal_methods(codes: Iterable[str]) -> dict[str, WithdrawalMethod]:
    """The simulator's methods, for these currencies."""
    of_all = _data()["sandbox"]
    return {
        f"sandbox:{code}": msgspec.convert(
            {"method_id": f"sandbox:{code}", "name": f"Test withdrawal in {code}", **of_all}, WithdrawalMethod
        )
        for code in codes
    }


def _data() -> dict[str, Any]:
    return tomllib.loads((resources.files("tollhouse.catalogue") / "data" / DATA).read_text("utf-8"))


def _read() -> dict[str, WithdrawalMethod]:
    return {
        method_id: msgspec.convert({"method_id": method_id, **facts}, WithdrawalMethod)
        for method_id, facts in _data().items()
        if method_id != "sandbox"
    }


BUILT_IN: Mapping[str, WithdrawalMethod] = _read()
WITHDRAWAL_METHODS: dict[str, WithdrawalMethod] = sandbox_withdrawal_methods(BUILT_IN_CURRENCIES) | BUILT_IN
"""What this house has: the sandbox's first, then the built-in ones, and what its operator added before it opened."""
