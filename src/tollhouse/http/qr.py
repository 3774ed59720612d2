"""QR codes."""

import segno

SCALE = 4
QUIET_ZONE = 4


def qr_image(text: str) -> str:
    """The QR code as an inline image, dark on white in both themes."""
    return segno.make_qr(text, error="m").svg_data_uri(scale=SCALE, border=QUIET_ZONE, dark="#000", light="#fff")
