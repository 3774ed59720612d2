"""Base64url without padding (RFC 4648 section 5), as JOSE, PKCE and Web Authentication write bytes."""

import base64
import binascii


def encode(raw: bytes) -> str:
    """The text of these bytes."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes | None:
    """The bytes of a text; None if it is not the one text of any bytes."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if encode(raw) == text else None
