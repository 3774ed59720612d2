"""Names of the accounts of the chart."""

from collections.abc import Mapping
from typing import LiteralString

from tollhouse.kernel.text import Text, Translatable

NAMES: Mapping[str, Translatable] = {
    "available": "Available balances of merchants",
    "pending": "Pending balances of merchants",
    "reserved": "Reserved balances of merchants",
    "debt": "Debts of merchants",
    "fx": "Currency conversions",
    "income:payment_fee": "Payment fees",
    "income:withdrawal_fee": "Withdrawal fees",
    "income:conversion_fee": "Conversion fees",
    "income:chargeback_fee": "Chargeback fees",
    "income:fulfillment_margin": "Margin of fulfillments",
    "expense:network_fee": "Network fees",
    "expense:provider_fee": "Fees of payment providers",
    "expense:bank_fee": "Bank fees",
    "expense:bank_difference": "Bank differences",
    "expense:reversed_payment": "Reversed payments",
    "equity:adjustment": "Adjustments by operators",
    "equity:test_funding": "Test funds",
    "equity:dismissed": "Dismissed transfers",
    "equity:bank_opening": "Opening balances of bank accounts",
    "equity:rail_float": "Own money on rails",
}
KINDS: Mapping[str, LiteralString] = {
    "bank": "Bank account %(name)s",
    "rail": "Money in transit: %(name)s",
    "transit": "Payouts from the provider on their way: %(name)s",
    "unapplied": "Unapplied payments: %(name)s",
    "unmatched": "Unmatched transfers: %(name)s",
    "payable": "Payable to suppliers: %(name)s",
}
"""Accounts of which there are several, by what precedes the colon of their codes."""
ORDER = (
    *("bank", "rail", "transit", "available", "pending", "reserved", "debt"),
    *("unapplied", "unmatched", "payable", "fx"),
)
"""Balance sheet accounts, then all others."""


def account_name(code: str) -> Translatable:
    """The name of an account."""
    kind, _, name = code.partition(":")
    if code in NAMES or kind not in KINDS:
        return NAMES.get(code, code)
    return Text(KINDS[kind], name=name.upper() if kind == "bank" else name)


def account_order(code: str) -> tuple[int, str]:
    """The place of an account in a table."""
    kind = code.partition(":")[0]
    return (ORDER.index(kind) if kind in ORDER else len(ORDER), code)
