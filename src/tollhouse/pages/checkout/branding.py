"""The merchant's branding on the checkout page: accent colour and support contact."""

import re
from decimal import Decimal
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import Struct

from tollhouse.accounts.environments import logos_model
from tollhouse.accounts.environments.payment_settings import Branding
from tollhouse.pages.checkout.state import Checkout

DIALLED = "+0123456789"
Color = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
CANVASES: tuple[Color, Color] = (WHITE, (0x0E, 0x13, 0x1C))
"""The background of the page in the light and in the dark theme: `--canvas` of app.css."""
SHEET_NAME = re.compile(r"([0-9a-f]{6})\.css")
SHEET = """\
.pay, .preview {{
  --brand: light-dark({0.brand}, {1.brand});
  --brand-edge: light-dark({0.edge}, {1.edge});
  --brand-hover: light-dark({0.hover}, {1.hover});
  --on-brand: light-dark({0.text}, {1.text});
  --brand-soft: light-dark({0.soft}, {1.soft});
  --brand-line: light-dark({0.line}, {1.line});
}}
"""
BLACK_TEXT_MIN_LUMINANCE = Decimal("0.1791")
"""The luminance at which black and white text have equal contrast, 4.58 to 1."""
PART_CONTRAST_MIN = 3
"""The least contrast of the edge of a button with the page."""
STEP_PERCENT, HOVER_PERCENT, SOFT_PERCENT, LINE_PERCENT = 4, 14, 8, 18


class Shades:
    """The colours of one theme, from the accent colour and the canvas."""

    def __init__(self, accent: Color, canvas: Color) -> None:
        away = BLACK if canvas == WHITE else WHITE
        edge = accent
        for percent in range(0, 101, STEP_PERCENT):
            edge = _mix(away, accent, percent)
            if _contrast(edge, canvas) >= PART_CONTRAST_MIN:
                break
        brand = accent if canvas == WHITE else edge  # darker, a yellow would be brown
        text = BLACK if _luminance(brand) > BLACK_TEXT_MIN_LUMINANCE else WHITE
        hover = _mix(WHITE if text == BLACK else BLACK, brand, HOVER_PERCENT)
        self.brand, self.edge, self.text, self.hover = _hex(brand), _hex(edge), _hex(text), _hex(hover)
        self.soft = _hex(_mix(accent, canvas, SOFT_PERCENT))
        self.line = _hex(_mix(accent, canvas, LINE_PERCENT))


def sheet(accent_color: str) -> str:
    """The stylesheet with the merchant's colour in both themes.

    A colour that is too close to a light page keeps its hue and has a darker edge; on a dark page it is made lighter. Text
    on it is black or white, whichever has more contrast.
    """
    red, green, blue = (int(accent_color[offset : offset + 2], 16) for offset in (1, 3, 5))
    return SHEET.format(*(Shades((red, green, blue), canvas) for canvas in CANVASES))


def mailto_link(branding: Branding) -> str | None:
    """A mailto link; only the address can be in it."""
    return None if branding.support_email is None else "mailto:" + quote(branding.support_email, safe="@")


class Contact(Struct, frozen=True):
    """A way to reach the merchant: where the link leads, its text, and the name of its icon."""

    href: str
    text: str
    icon: str


def contacts(branding: Branding) -> list[Contact]:
    """The ways to reach the merchant's support."""
    found: list[Contact] = []
    if email := mailto_link(branding):
        found.append(Contact(email, branding.support_email or "", "mail"))
    if phone := branding.support_phone:
        found.append(Contact("tel:" + "".join(character for character in phone if character in DIALLED), phone, "phone"))
    if url := branding.support_url:
        found.append(Contact(url, urlsplit(url).netloc, "globe"))
    return found


def _hex(color: Color) -> str:
    return "#" + bytes(color).hex()


def _mix(color: Color, other: Color, percent: int) -> Color:
    """So many per cent of one colour, the rest of the other."""
    red, green, blue = ((mine * percent + its * (100 - percent)) // 100 for mine, its in zip(color, other, strict=True))
    return red, green, blue


def _contrast(color: Color, other: Color) -> Decimal:
    """From 1 to 21."""
    darker, lighter = sorted((_luminance(color), _luminance(other)))
    return (lighter + Decimal("0.05")) / (darker + Decimal("0.05"))


def _luminance(color: Color) -> Decimal:
    """The relative luminance of WCAG 2.2, from 0 for black to 1 for white."""
    red, green, blue = (_linear(level) for level in color)
    return Decimal("0.2126") * red + Decimal("0.7152") * green + Decimal("0.0722") * blue


def _linear(level: int) -> Decimal:
    share = Decimal(level) / 255
    if share <= Decimal("0.04045"):
        return share / Decimal("12.92")
    return ((share + Decimal("0.055")) / Decimal("1.055")) ** Decimal("2.4")


def brand_values(found: Checkout) -> dict[str, Any]:
    """Who is paid, and how that looks."""
    look = found.settings.branding
    return {
        "image_origin": logos_model.image_origin(look.logo_url),
        "shop": shop_name(found),
        "logo_url": logos_model.shown_source(look.logo_url),
        "sheet": look.stylesheet,
        "questions": mailto_link(look),
        "support_email": look.support_email,
        "contacts": contacts(look),
    }


def shop_name(found: Checkout) -> str:
    """The merchant's name as customers know it."""
    return found.settings.branding.display_name or found.shown.business_name
