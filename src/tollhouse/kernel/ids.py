"""Ids of what we keep. All are UUID version 7, so that they sort by their time of birth; types keep them apart."""

from datetime import UTC, datetime
from typing import Literal, NewType
from uuid import UUID

import uuid_utils
from uuid_utils.compat import uuid7

ID_PATTERN = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""An ID in a text."""

Mode = Literal["live", "test"]
"""The environment. A credential fixes it; live and test never meet.

live: Real money.
test: Simulated payments.
"""

MerchantId = NewType("MerchantId", UUID)
UserId = NewType("UserId", UUID)
ApiKeyId = NewType("ApiKeyId", UUID)
GrantId = NewType("GrantId", UUID)
ClientId = NewType("ClientId", str)
"""An application's public name in the protocol: `thc_` and 22 base62 characters."""


def new_id() -> UUID:
    """A fresh UUID version 7."""
    return uuid7()


def new_id_text() -> str:
    """A fresh UUID version 7 as text, for what is only ever shown."""
    return str(uuid_utils.uuid7())


def created_at_of(id_: UUID) -> datetime:
    """The time in a UUID version 7, in milliseconds."""
    return datetime.fromtimestamp((id_.int >> 80) / 1000, UTC)


def parse_id(text: str) -> UUID | None:
    """The id a path or body names; None when it is none. Only the canonical 36-character form counts."""
    if len(text) != 36:  # noqa: PLR2004 - the canonical length, and nothing else that UUID() would take
        return None
    try:
        return UUID(text)
    except ValueError:
        return None
