"""Every pair of colours of the stylesheet that stands for text, fields or focus is told apart, in both themes (WCAG 2.2)."""

import re
from itertools import product
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "src/tollhouse/http/static"
CSS = (STATIC / "app.css").read_text()
TOKEN = re.compile(r"--([\w-]+): (?:light-dark\((#[0-9a-fA-F]{3,6}), ?(#[0-9a-fA-F]{3,6})\)|(#[0-9a-fA-F]{3,6}));")
TOKENS = {name: (light or one, dark or one) for name, light, dark, one in TOKEN.findall(CSS)}
THEMES = {"light": 0, "dark": 1}
TEXT, PART = 4.5, 3.0
"""What text needs, and what the edge of a field, a focus ring or a line of a chart needs (1.4.3, 1.4.11)."""

GROUNDS = ("canvas", "side", "raised", "sunken")
ON_THEIR_OWN = [(name, f"{name}-bg") for name in TOKENS if f"{name}-bg" in TOKENS]
"""`--ok` stands on `--ok-bg`; those with a meaning stand on the page too."""
MEANINGS = ("ok", "warn", "danger")
METHODS = {"bank", "btc", "usdc", "usdt", "eth"}
"""Marks of payment methods: graphics."""
CHARTED = [name for name in TOKENS if re.fullmatch(r"c\d+", name)]
WORDS = [
    *product(("text", "soft", "muted", "link"), (*GROUNDS, "hover", "selected", "brand-soft")),
    *product(("text", "soft"), ("current", "segment")),
    *((one, ground) for one, ground in ON_THEIR_OWN if one not in METHODS),
    *product(MEANINGS, ("canvas", "raised")),
    *product(("code-key", "code-text", "code-number", "text", "muted"), ("code-bg",)),
    *product(("on-accent",), ("accent", "accent-hover", "danger-fill")),
    *product(("on-brand",), ("brand", "brand-hover")),
    ("link", "tint"),
]
PARTS = [
    *product(("link",), GROUNDS),
    *product(("brand-edge",), ("canvas",)),
    *product(("field",), ("canvas", "raised")),
    *product(CHARTED, ("canvas", "raised")),
    *((one, ground) for one, ground in ON_THEIR_OWN if one in METHODS),
]
PLAIN = {"line", "line-strong", "warn-line", "brand-line"}
"""Lines that only decorate, and say nothing that a text does not."""


def luminance(color: str) -> float:
    """Relative luminance of `#rgb` or `#rrggbb`."""
    digits = color[1:] if len(color) == 7 else "".join(digit * 2 for digit in color[1:])
    red, green, blue = (int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4))
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_reckoning_is_right() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#fff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("goal", "pairs"), [(TEXT, WORDS), (PART, PARTS)], ids=["words", "parts"])
def test_contrast_of_what_stands_on_what(theme: str, goal: float, pairs: list[tuple[str, str]]) -> None:
    of = {name: both[THEMES[theme]] for name, both in TOKENS.items()}
    low = {f"{one} on {ground}": round(contrast(of[one], of[ground]), 2) for one, ground in pairs}
    assert not {pair: found for pair, found in low.items() if found < goal}


def test_every_colour_is_looked_at() -> None:
    """A new token belongs into one of the lists above."""
    assert set(TOKENS) <= {name for pair in [*WORDS, *PARTS] for name in pair} | PLAIN


def test_no_rule_paints_with_a_colour_of_its_own() -> None:
    """Colours are tokens, so that both themes have them. The codes that cameras read are black on white in both."""
    rules = CSS[CSS.index("@layer base {") :] + "".join(
        path.read_text() for path in STATIC.glob("*.css") if path.name != "app.css"
    )
    painted = re.findall(
        r"[{;]\s*([\w-]*(?:color|background|fill|stroke|border[\w-]*)): *([^;}]*#[0-9a-fA-F]{3,6}[^;}]*)", rules
    )
    assert [value for _, value in painted if value not in ("#fff", "var(--on-fill, #fff)")] == []
