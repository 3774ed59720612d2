"""Reviewers, and how an approval is refused."""

from datetime import datetime

from msgspec import Struct

from tollhouse.identity.people import email_key

LOCAL_ADMINISTRATOR = "local administrator"
"""Whoever uses the command line without naming an operator: one person, whatever the system user is called."""


class OperatorRefusedError(Exception):
    """What was asked cannot be done; the sentence says why. Nothing changed."""


class ApprovedBefore(OperatorRefusedError):
    """The same person approved it before."""

    def __init__(self) -> None:
        super().__init__("You have approved it: a second operator must approve it too.")


class Reviewer(Struct, frozen=True):
    """Who decides. `name` is an operator's e-mail address, or that of the local administrator."""

    name: str
    on_command_line: bool = False

    def is_among(self, names: tuple[str, ...]) -> bool:
        """Whether one of these is the same person, however the address is spelt."""
        return email_key(self.name) in {email_key(name) for name in names}


class Approvals(Struct, frozen=True):
    """What was approved so far: by whom, how many of them on the command line, and how many are needed."""

    given: tuple[str, ...]
    by_command: int
    needed: int

    @property
    def complete(self) -> bool:
        """Whether nobody else need approve it."""
        return len(self.given) >= self.needed


class OperatorContext(Struct, frozen=True):
    """Which operator acts, when, and why. `operator` is an e-mail address, or the local administrator."""

    operator: str
    at: datetime
    reason: str | None = None
    on_command_line: bool = False

    @property
    def reviewer(self) -> Reviewer:
        """Whose approval it is."""
        return Reviewer(self.operator, self.on_command_line)
