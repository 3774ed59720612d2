"""A text as a code for a camera."""

import segno

SCALE = 4
QUIET_ZONE = 4


def qr_image(text: str) -> str:
    """The code as an image that stands in the page itself: dark on white in either theme."""
    return segno.make_qr(text, error="m").svg_data_uri(scale=SCALE, border=QUIET_ZONE, dark="#000", light="#fff")
