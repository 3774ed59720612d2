"""What is mailed to people, and for how long it is of use."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.limits import MAIL_NOTICE_S, MAIL_RETRY_AFTER_S, RESET_LINK_S, VERIFY_LINK_S

About = Literal["verify", "reset", "password_changed", "new_device", "factor_on", "factor_off"]
Linked = Literal["verify", "reset"]
LINKED: tuple[Linked, ...] = ("verify", "reset")
USEFUL_S: dict[About, int] = {
    "verify": VERIFY_LINK_S,
    "reset": RESET_LINK_S,
    "password_changed": MAIL_NOTICE_S,
    "new_device": MAIL_NOTICE_S,
    "factor_on": MAIL_NOTICE_S,
    "factor_off": MAIL_NOTICE_S,
}
Status = Literal["waiting", "sent", "shown", "given_up"]


class Letter(Struct, frozen=True):
    """What is to be said to whom. `facts` are values of its text, and no secrets.

    Without `user_id` a reset is addressed when it is sent: `recipient` is a folded e-mail then, which may be nobody's.
    """

    about: About
    recipient: str
    language: str
    user_id: UUID | None = None
    facts: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class Mail(Struct, frozen=True):
    """A letter that stands in the outbox. `attempts` tells this time of being taken from all others."""

    id: UUID
    letter: Letter
    created_at: datetime
    useful_until: datetime
    attempts: int


class ListedMail(Struct, frozen=True):
    """What an operator sees of a mail."""

    mail_id: UUID
    about: About
    recipient: str
    status: Status
    attempts: int
    error: str | None
    created_at: Timestamp
    ended_at: Timestamp | None


def useful_for(about: About) -> timedelta:
    """How long somebody may want to read it, or its link works."""
    return timedelta(seconds=USEFUL_S[about])


def again_after(attempts: int) -> timedelta | None:
    """How long after so many attempts the next one comes; None when there is none."""
    return timedelta(seconds=MAIL_RETRY_AFTER_S[attempts - 1]) if attempts <= len(MAIL_RETRY_AFTER_S) else None
