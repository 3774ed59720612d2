"""The payment URI in the QR code."""

import re
from typing import Any

from tollhouse.http.markup import qr_image
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.money import format_minor, parse_amount
from tollhouse.kernel.rails.provider import Instructions
from tollhouse.pages.checkout.state import Checkout

BITCOIN = "bitcoin:"
UNITS = re.compile(r"(?<=value=)[0-9]+$|(?<=uint256=)[0-9]+$")
"""The amount of an EIP-681 URI, in units of the chain."""
WALLET_SCHEMES = ("bitcoin:", "ethereum:")


def uri_values(found: Checkout, catalogue: Catalogue) -> dict[str, Any]:
    """The QR code while a push payment is awaited, and its URI if wallets open it."""
    attempt = found.attempt
    if attempt is None or found.state not in {"pending", "underpaid"} or attempt.instructions.redirect_url is not None:
        return {"qr": None, "wallet_uri": None}
    uri = payment_uri(attempt.instructions, found.due_minor, catalogue.currencies[attempt.currency].decimals)
    return {"qr": qr_image(uri), "wallet_uri": uri if uri.startswith(WALLET_SCHEMES) else None}


def payment_uri(instructions: Instructions, due_minor: int, decimals: int) -> str:
    """BIP 21 or EIP 681 with what is left to pay, an EPC code for a bank account, else the address alone.

    The rail's own URI asks for the whole amount; without an amount that can be replaced, there is the address alone for the
    rest of a part. The sandbox has no address: the reference with the amount.
    """
    amount = format_minor(due_minor, decimals)
    if instructions.uri is not None and not instructions.uri.startswith(BITCOIN):
        return _uri_of(instructions.uri, instructions, due_minor, decimals)
    if instructions.holder is not None and instructions.address is not None:
        return credit_transfer(
            instructions.holder, instructions.address, instructions.bic or "", amount, instructions.reference
        )
    if instructions.address is None:
        return f"tollhouse-test:{instructions.reference}?amount={amount}"
    return instructions.address if instructions.uri is None else f"{BITCOIN}{instructions.address}?amount={amount}"


def _uri_of(uri: str, instructions: Instructions, due_minor: int, decimals: int) -> str:
    whole_minor = None if instructions.pay_amount is None else parse_amount(instructions.pay_amount, decimals)
    if whole_minor is None or whole_minor == due_minor:
        return uri
    found = UNITS.search(uri)
    if found is None:
        return instructions.address or uri
    rest_units = -(-int(found[0]) * due_minor // whole_minor)
    return f"{uri[: found.start()]}{rest_units}"


def credit_transfer(holder: str, iban: str, bic: str, euros: str, reference: str) -> str:
    """A SEPA credit transfer QR code (EPC069-12, version 002, UTF-8)."""
    return "\n".join(("BCD", "002", "1", "SCT", bic, holder, iban, f"EUR{euros}", "", reference))
