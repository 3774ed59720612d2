"""What a probe has found."""

from typing import Literal

from msgspec import Struct

Severity = Literal["ok", "warning", "failure"]


class Finding(Struct, frozen=True):
    """The result of a check. `advice` says what to do next; it is empty if there is nothing to do."""

    check: str
    status: Severity
    message: str
    advice: str = ""
