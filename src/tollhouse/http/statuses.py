"""How pages show a status: its words, its tone and its icon. Tones are those of the stylesheet; icons are Lucide's."""

from typing import Literal, NamedTuple

Tone = Literal["ok", "info", "warn", "bad", ""]
WORDINGS = {
    "refund required": "needs a decision",
    "not required": "no review needed",
    "given up": "failed",
    "customer purchase ip": "customer IP address",
    "uncategorized text": "further explanation",
}
"""Values that pages call otherwise than the API does."""


class StatusMark(NamedTuple):
    """The tone and the icon of a badge."""

    tone: Tone
    icon: str


DONE = StatusMark("ok", "check")
RUNNING = StatusMark("info", "clock")
NEEDS_PEOPLE = StatusMark("warn", "circle-alert")
FAILED = StatusMark("bad", "x")
ENDED = StatusMark("", "x")
RETURNED = StatusMark("", "undo-2")
UNKNOWN = StatusMark("", "circle")
STATUSES_DONE = (
    *("active", "approved", "captured", "completed", "confirmed", "delivered"),
    *("enabled", "on", "sent", "succeeded", "won"),
)
MARKS: dict[str, StatusMark] = {
    **dict.fromkeys(STATUSES_DONE, DONE),
    **dict.fromkeys(
        (
            *("batched", "broadcast", "drafted", "exported", "invited", "pending", "prepared", "processing", "requested"),
            *("reserved", "signed", "under_review", "waiting"),
        ),
        RUNNING,
    ),
    **dict.fromkeys(("needs_response", "open", "partially_completed", "refund_required"), NEEDS_PEOPLE),
    **dict.fromkeys(("in_review", "pending_review", "required"), StatusMark("warn", "clock")),
    **dict.fromkeys(("failed", "given_up", "lost", "refused", "rejected", "revoked"), FAILED),
    **dict.fromkeys(("accepted", "canceled", "closed", "disabled", "ended", "released", "skipped"), ENDED),
    **dict.fromkeys(("partially_refunded", "refunded", "returned"), RETURNED),
    "chargeback": StatusMark("bad", "triangle-alert"),
    "shown": StatusMark("", "eye"),
    "expired": StatusMark("", "hourglass"),
    "held": StatusMark("warn", "circle-pause"),
    "paused": StatusMark("warn", "circle-pause"),
    "retrying": StatusMark("warn", "rotate-ccw"),
    "suspended": StatusMark("bad", "ban"),
    "test": StatusMark("warn", "flask-conical"),
}


def mark_of(status: str) -> StatusMark:
    """The tone and the icon of this status."""
    return MARKS.get(status, UNKNOWN)


def words_of(value: str) -> str:
    """The English words of a stored value such as `partially_refunded`, in lower case; the key of their translation."""
    words = value.replace("_", " ")
    return WORDINGS.get(words, words)
