"""The names of the parts of a measured balance."""

from collections.abc import Mapping

from tollhouse.kernel.text import Translatable

PLACES: Mapping[str, Translatable] = {
    "wallet": "Wallet that pays",
    "deposit_addresses": "Deposit addresses",
    "other_addresses": "Change and other addresses of the account",
    "available": "Available at the provider",
    "pending": "Pending at the provider",
    "sweep_target": "Address where deposits are collected",
}
IN_FLIGHT: Mapping[str, Translatable] = {
    "deposits_not_credited": "Deposits on the chain that are not credited yet",
    "deposits_ignored": "Deposits below the smallest amount",
    "deposits_lost": "Credited deposits that left the chain",
    "payouts": "Payouts that are not in both yet",
    "payments": "Payments that are not in both yet",
    "refunds": "Refunds that are not in both yet",
    "disputes": "Disputes that are not in both yet",
    "provider_fees": "Fees of the provider that are not in the ledger yet",
    "converted": "Settled in another currency",
    "network_fees": "Network fees that are not in both yet",
    "rounding": "Rounding",
}


def part_name(code: str) -> Translatable:
    """The name of a place or of something in flight."""
    return PLACES.get(code) or IN_FLIGHT.get(code) or code
