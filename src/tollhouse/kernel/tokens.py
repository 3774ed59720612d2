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
CHECKSUM_CHARS = 6  # as many as 32 bits need
Prefix = Literal["th_live", "th_test", "that", "thrt", "thac", "thcs"]
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_DIGIT_OF = (ALPHABET * 5).encode()[:256]
_UNEVEN = bytes(range(62 * 4, 256))
"""The random bytes that are left out, or the first digits of the alphabet would be likelier than the last."""
SPARE_BYTES = 16
"""So many more bytes than characters, that one look into the source is nearly always enough."""
_FORM = re.compile(r"(th_live|th_test|that|thrt|thac|thcs)_([0-9A-Za-z]{43,128})([0-9A-Za-z]{6})")


def mint(prefix: Prefix) -> str:
    """A fresh secret of 256 random bits."""
    return with_checksum(prefix, random_base62(BODY_CHARS))


def with_checksum(prefix: Prefix, body: str) -> str:
    """`prefix_body` with its checksum behind it."""
    text = f"{prefix}_{body}"
    return text + _checksum(text)


def body_of(prefix: Prefix, text: str) -> str | None:
    """What stands between the prefix and the checksum; None when the prefix, the form or the checksum is wrong."""
    match = _FORM.fullmatch(text)
    if match is None or match[1] != prefix or _checksum(text[:-CHECKSUM_CHARS]) != match[3]:
        return None
    return match[2]


def is_well_formed(prefix: Prefix, text: str) -> bool:
    """Whether this can be a secret of that prefix at all."""
    return body_of(prefix, text) is not None


def public_name(prefix: str, chars: int = 22) -> str:
    """A random public name such as a `client_id`: no secret, no checksum."""
    return f"{prefix}_{random_base62(chars)}"


def digest(secret: str) -> bytes:
    """SHA-256, which is how we keep a random secret. 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def random_base62(chars: int) -> str:
    """Random characters, every one of the 62 as likely as any other: 43 of them hold 256 bits."""
    found = b""
    while len(found) < chars:
        found += secrets.token_bytes(chars + SPARE_BYTES).translate(_DIGIT_OF, _UNEVEN)
    return found[:chars].decode()


def _checksum(text: str) -> str:
    # Three times two digits, most significant first.
    rest, last = divmod(zlib.crc32(text.encode()), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]
