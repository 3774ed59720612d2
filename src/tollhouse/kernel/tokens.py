"""Format of secrets: a prefix, `_`, 43 to 128 base62 characters, and 6 of CRC-32 over everything before them.

A wrong checksum is refused without a database query, and secret scanners can recognise a leaked secret.
"""

import hashlib
import re
import secrets
import zlib
from typing import Final, Literal, get_args

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BODY_CHARS = 43
CHECKSUM_CHARS = 6  # as many as 32 bits need
Prefix = Literal["th_live", "th_test", "that", "thrt", "thac", "thcs", "thdc"]
LIVE_API_KEY_PREFIX: Final = "th_live"
TEST_API_KEY_PREFIX: Final = "th_test"
ACCESS_TOKEN_PREFIX: Final = "that"  # noqa: S105 - a prefix, not a secret
REFRESH_TOKEN_PREFIX: Final = "thrt"  # noqa: S105 - a prefix, not a secret
AUTHORIZATION_CODE_PREFIX: Final = "thac"
CLIENT_SECRET_PREFIX: Final = "thcs"  # noqa: S105 - a prefix, not a secret
DEVICE_CODE_PREFIX: Final = "thdc"
CLIENT_ID_PREFIX: Final = "thc"
DOCUMENT_ID_PREFIX: Final = "thd"
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_DIGIT_OF = (ALPHABET * 5).encode()[:256]
_UNEVEN = bytes(range(62 * 4, 256))
"""Random bytes that are discarded, so that every character is equally likely."""
SPARE_BYTES = 16
"""Extra random bytes, so that one read is nearly always enough."""
_FORM = re.compile(rf"({'|'.join(get_args(Prefix))})_([0-9A-Za-z]{{43,128}})([0-9A-Za-z]{{6}})")


def mint(prefix: Prefix) -> str:
    """A fresh secret of 256 random bits."""
    return with_checksum(prefix, random_base62(BODY_CHARS))


def with_checksum(prefix: Prefix, body: str) -> str:
    """`prefix_body` followed by its checksum."""
    text = f"{prefix}_{body}"
    return text + _checksum(text)


def body_of(prefix: Prefix, text: str) -> str | None:
    """The part between prefix and checksum; None if the prefix, the format or the checksum is wrong."""
    match = _FORM.fullmatch(text)
    if match is None or match[1] != prefix or _checksum(text[:-CHECKSUM_CHARS]) != match[3]:
        return None
    return match[2]


def is_well_formed(prefix: Prefix, text: str) -> bool:
    """Whether the prefix, the format and the checksum are right."""
    return body_of(prefix, text) is not None


def public_name(prefix: str, chars: int = 22) -> str:
    """A random public identifier such as a `client_id`: no secret, no checksum."""
    return f"{prefix}_{random_base62(chars)}"


def digest(secret: str) -> bytes:
    """SHA-256, as which random secrets are stored. 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def base62_of(digest: bytes, chars: int) -> str:
    """The last base62 digits of a digest, the lowest first."""
    number, digits = int.from_bytes(digest), ""
    for _ in range(chars):
        number, digit = divmod(number, len(ALPHABET))
        digits += ALPHABET[digit]
    return digits


def random_base62(chars: int) -> str:
    """Random base62 characters, each equally likely; 43 of them hold 256 bits."""
    found = b""
    while len(found) < chars:
        found += secrets.token_bytes(chars + SPARE_BYTES).translate(_DIGIT_OF, _UNEVEN)
    return found[:chars].decode()


def _checksum(text: str) -> str:
    # Three times two digits, most significant first.
    rest, last = divmod(zlib.crc32(text.encode()), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]
