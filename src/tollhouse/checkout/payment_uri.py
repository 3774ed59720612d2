"""The payment URI in the QR code."""

from tollhouse.kernel.money import format_minor
from tollhouse.rails.provider import Instructions

BITCOIN = "bitcoin:"


def payment_uri(instructions: Instructions, due_minor: int, decimals: int) -> str:
    """BIP 21 with what is left to pay, the rail's own URI, an EPC code for a bank account, else the address alone.

    The rail's own URI asks for the whole amount: for the rest of a part there is the address alone. The sandbox has no
    address: the reference with the amount.
    """
    amount = format_minor(due_minor, decimals)
    if instructions.uri is not None and not instructions.uri.startswith(BITCOIN):
        is_rest = instructions.pay_amount not in {None, amount}
        return (instructions.address if is_rest else None) or instructions.uri
    if instructions.holder is not None and instructions.address is not None:
        return credit_transfer(
            instructions.holder, instructions.address, instructions.bic or "", amount, instructions.reference
        )
    if instructions.address is None:
        return f"tollhouse-test:{instructions.reference}?amount={amount}"
    return instructions.address if instructions.uri is None else f"{BITCOIN}{instructions.address}?amount={amount}"


def credit_transfer(holder: str, iban: str, bic: str, euros: str, reference: str) -> str:
    """A SEPA credit transfer QR code (EPC069-12, version 002, UTF-8)."""
    return "\n".join(("BCD", "002", "1", "SCT", bic, holder, iban, f"EUR{euros}", "", reference))
