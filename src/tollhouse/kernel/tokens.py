"""The form of our secrets: a prefix, `_`, 43 or more base62 characters, and 6 of checksum over all before them.

A wrong checksum is refused without asking the database; scanners of source code can tell our secrets by their form.
"""

import hashlib
import re
import secrets
import zlib
from typing import Literal

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BODY_CHARS = 43
CHECKSUM_CHARS = 6
Prefix = Literal["th_live", "th_test", "that", "thrt", "thac", "thcs"]
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
"""Two digits at a time: half the divisions of a long number, and they are what costs."""
_VALUES = {pair: value for value, pair in enumerate(_PAIRS)}
_FORM = re.compile(r"(th_live|th_test|that|thrt|thac|thcs)_([0-9A-Za-z]{43,128})([0-9A-Za-z]{6})")


def mint(prefix: Prefix) -> str:
    """A fresh secret of 256 random bits."""
    return seal_form(prefix, base62(int.from_bytes(secrets.token_bytes(32)), BODY_CHARS))


def seal_form(prefix: Prefix, body: str) -> str:
    """`prefix_body` with its checksum behind it."""
    text = f"{prefix}_{body}"
    return text + _checksum(text)


def body_of(prefix: Prefix, text: str) -> str | None:
    """What stands between the prefix and the checksum; None when the prefix, the form or the checksum is wrong."""
    match = _FORM.fullmatch(text)
    if match is None or match[1] != prefix or _checksum(text[:-CHECKSUM_CHARS]) != match[3]:
        return None
    return match[2]


def intact(prefix: Prefix, text: str) -> bool:
    """Whether this can be a secret of that prefix at all."""
    return body_of(prefix, text) is not None


def public_name(prefix: str, chars: int = 22) -> str:
    """A random public name such as a `client_id`: no secret, no checksum."""
    return f"{prefix}_{''.join(secrets.choice(ALPHABET) for _ in range(chars))}"


def digest(secret: str) -> bytes:
    """SHA-256, which is how we keep a random secret. 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def base62(number: int, width: int) -> str:
    """Most significant digit first, padded with `0`."""
    pairs: list[str] = []
    while number:
        number, pair = divmod(number, len(_PAIRS))
        pairs.append(_PAIRS[pair])
    pairs.reverse()
    return "".join(pairs).lstrip("0").rjust(width, "0")


def from_base62(text: str) -> int:
    """The number a base62 text spells."""
    number = 0
    even = text if len(text) % 2 == 0 else "0" + text
    for place in range(0, len(even), 2):
        number = number * len(_PAIRS) + _VALUES[even[place : place + 2]]
    return number


def _checksum(text: str) -> str:
    return base62(zlib.crc32(text.encode()), CHECKSUM_CHARS)
