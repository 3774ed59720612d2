"""Withdrawal methods: those of live mode from a data file, and a sandbox method for each currency."""

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.catalogue.currencies import Currency, Words
from tollhouse.kernel.catalogue.methods import Fees, Minor
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.kernel.text import Text, Translatable

FeeMode = Literal["deduct", "add"]
"""Who bears the fees of a withdrawal.

deduct: Fees are taken from the amount.
add: Fees are added to the amount.
"""
ReceiverType = Literal["iban", "evm_address", "bitcoin_address", "sandbox"]
"""Kind of receiver.

iban: An IBAN with its holder.
evm_address: An address of an EVM network.
bitcoin_address: A Bitcoin address.
sandbox: Any text, in the test environment.
"""
Limit = Annotated[int, Meta(ge=1, le=MINOR_MAX)]
DATA = "withdrawal_methods.toml"
RETURN_FEE_MAX_MINOR = 5_000
"""Of methods that set none."""
UNITS_WITHOUT_METHOD = 10_000


class WithdrawalMethod(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A withdrawal method. `fees` are the platform's, `network_fee_minor` is the rail's.

    `provider_fields` is the JSON Schema of further data of the receiver. Above `second_operator_above_minor` two operators
    must approve in live mode, counting what the merchant withdraws and refunds in this currency in 24 hours. They must, too,
    where a payout came back for less than it was by more than `return_fee_max_minor`.
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
    return_fee_max_minor: Minor = RETURN_FEE_MAX_MINOR
    arrives_in_s: Annotated[int, Meta(ge=0)] | None = None

    @property
    def label(self) -> Translatable:
        """The name, for pages."""
        return sandbox_name(self.currency) if self.rail == "sandbox" else self.name

    @property
    def network(self) -> str:
        """The network: the part of the id before the colon."""
        return self.method_id.partition(":")[0]

    @property
    def currency(self) -> str:
        """The currency: the part of the id after the colon."""
        return self.method_id.partition(":")[2]

    @property
    def default_fee_mode(self) -> FeeMode:
        """The fee mode of requests that name none."""
        return "deduct" if "deduct" in self.network_fee_modes else self.network_fee_modes[0]

    def approvals_needed(self, amount_minor: int) -> int:
        """The number of operators that must approve this amount by itself in live mode."""
        above = self.second_operator_above_minor
        return 2 if above is not None and amount_minor > above else 1


def second_operator_above(currency: Currency, methods: Iterable[WithdrawalMethod]) -> int:
    """Above which amount two operators approve what gives money in this currency: the lowest threshold of its methods.

    Of a currency without one, the threshold is 10,000 units.
    """
    known = [method.second_operator_above_minor for method in methods if method.currency == currency.code]
    return min((amount for amount in known if amount is not None), default=UNITS_WITHOUT_METHOD * 10**currency.decimals)


def sandbox_name(code: str) -> Text:
    """The name of the sandbox method of a currency."""
    return Text("Test withdrawal in %(currency)s", currency=code)


def sandbox_withdrawal_methods(codes: Iterable[str]) -> dict[str, WithdrawalMethod]:
    """The sandbox methods of these currencies."""
    defaults = _data()["sandbox"]
    return {
        f"sandbox:{code}": msgspec.convert(
            {"method_id": f"sandbox:{code}", "name": str(sandbox_name(code)), **defaults}, WithdrawalMethod
        )
        for code in codes
    }


def _data() -> dict[str, Any]:
    return tomllib.loads((resources.files("tollhouse.kernel.catalogue") / "data" / DATA).read_text("utf-8"))


def _read() -> dict[str, WithdrawalMethod]:
    return {
        method_id: msgspec.convert({"method_id": method_id, **facts}, WithdrawalMethod)
        for method_id, facts in _data().items()
        if method_id != "sandbox"
    }


BUILT_IN: Mapping[str, WithdrawalMethod] = _read()
