"""The merchant's branding on the checkout page: accent colour, logo and support address."""

import re
from decimal import Decimal
from urllib.parse import quote, urlsplit

from tollhouse.environments.payment_settings import Branding

HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")
SHEET = """\
.consent {{ border-block-start: .25rem solid {color}; }}
.btn.primary {{ background: {color}; border-color: var(--field); color: {text_color}; }}
"""
BLACK_TEXT_MIN_LUMINANCE = Decimal("0.1791")
"""The luminance at which black and white text have equal contrast, 4.58 to 1."""


def sheet(accent_color: str) -> str:
    """The stylesheet with the merchant's colour. The button text is black or white, whichever has more contrast."""
    text_color = "#000" if _luminance(accent_color) > BLACK_TEXT_MIN_LUMINANCE else "#fff"
    return SHEET.format(color=accent_color, text_color=text_color)


def logo_origin(branding: Branding) -> str | None:
    """The origin of the logo for the CSP; None if there is none or it cannot be expressed."""
    if branding.logo_url is None:
        return None
    host = urlsplit(branding.logo_url).netloc
    return f"https://{host}" if HOST.fullmatch(host) else None


def mailto_link(branding: Branding) -> str | None:
    """A mailto link; only the address can be in it."""
    return None if branding.support_email is None else "mailto:" + quote(branding.support_email, safe="@")


def _luminance(color: str) -> Decimal:
    """The relative luminance of WCAG 2.2, from 0 for black to 1 for white."""
    red, green, blue = (_linear(int(color[offset : offset + 2], 16)) for offset in (1, 3, 5))
    return Decimal("0.2126") * red + Decimal("0.7152") * green + Decimal("0.0722") * blue


def _linear(level: int) -> Decimal:
    share = Decimal(level) / 255
    if share <= Decimal("0.04045"):
        return share / Decimal("12.92")
    return ((share + Decimal("0.055")) / Decimal("1.055")) ** Decimal("2.4")
