"""QR codes."""

import segno

SCALE = 6
QUIET_ZONE = 4


def qr_image(text: str) -> str:
    """The QR code as an inline PNG, which phones can save among their pictures. Black on white in both themes."""
    return segno.make_qr(text, error="m").png_data_uri(scale=SCALE, border=QUIET_ZONE, dark="#000", light="#fff")
