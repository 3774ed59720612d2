"""The payment URI in the QR code."""

from tollhouse.kernel.money import format_minor
from tollhouse.rails.provider import Instructions


def payment_uri(told: Instructions, method_id: str, due_minor: int, decimals: int) -> str:
    """The rail's own URI, an EPC code for a bank account, BIP 21 for Bitcoin, else the address alone.

    The sandbox has no address: the reference with the amount.
    """
    if told.uri is not None:
        return told.uri
    amount = format_minor(due_minor, decimals)
    if told.holder is not None and told.address is not None:
        return credit_transfer(told.holder, told.address, told.bic or "", amount, told.reference)
    if told.address is None:
        return f"tollhouse-test:{told.reference}?amount={amount}"
    return f"bitcoin:{told.address}?amount={amount}" if method_id.startswith("bitcoin:") else told.address


def credit_transfer(holder: str, iban: str, bic: str, euros: str, reference: str) -> str:
    """A SEPA credit transfer QR code (EPC069-12, version 002, UTF-8)."""
    return "\n".join(("BCD", "002", "1", "SCT", bic, holder, iban, f"EUR{euros}", "", reference))
