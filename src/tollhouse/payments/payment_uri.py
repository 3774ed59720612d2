"""What a wallet reads from the code on the screen: where to send how much."""

import segno

from tollhouse.kernel.money import format_minor
from tollhouse.rails.provider import Instructions

SCALE = 4
QUIET_ZONE = 4


def payment_uri(told: Instructions, method_id: str, due_minor: int, decimals: int) -> str:
    """The address with the amount: the rail's own, BIP 21 for Bitcoin, else the address alone.

    Where there is no address, as in the sandbox, it is our reference with the amount.
    """
    if told.uri is not None:
        return told.uri
    amount = format_minor(due_minor, decimals)
    if told.address is None:
        return f"tollhouse-test:{told.reference}?amount={amount}"
    return f"bitcoin:{told.address}?amount={amount}" if method_id.startswith("bitcoin:") else told.address


def qr_image(text: str) -> str:
    """The code as an image that stands in the page itself: dark on white in either theme."""
    return segno.make_qr(text, error="m").svg_data_uri(scale=SCALE, border=QUIET_ZONE, dark="#000", light="#fff")
