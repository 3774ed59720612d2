"""Hidden form fields with a MAC that binds them to a session and a subject."""

import base64
import binascii

from tollhouse.accounts.identity.model import Person
from tollhouse.platform.encryption import KeyRing

MAC_BYTES = 32


def sign(keys: KeyRing, purpose: bytes, person: Person, subject: str) -> str:
    """The MAC of the subject for this session, in base64url."""
    return base64.urlsafe_b64encode(keys.mac(_message(purpose, person, subject))).decode()


def is_valid(keys: KeyRing, purpose: bytes, person: Person, subject: str, token: str) -> bool:
    """Whether `sign` created the token with any key of the ring."""
    try:
        mac = base64.b64decode(token, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(mac) == MAC_BYTES and keys.verify_mac(_message(purpose, person, subject), mac)


def _message(purpose: bytes, person: Person, subject: str) -> bytes:
    return purpose + person.session_id.bytes + subject.encode()
